"""What a browser computes, for tests: a page's script fills its body, and the body is read."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest


def chromium() -> str:
    """Debian's Chromium; a test is skipped without one, which CI forbids."""
    path = shutil.which("chromium") or shutil.which("google-chrome")
    if path is None:
        pytest.skip("no chromium")
    return path


def drawn(page: Path, profile: Path) -> str:
    """The page as the browser has it after its scripts have run."""
    command = [
        chromium(), "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
        "--disable-background-networking", "--disable-component-update", "--disable-sync",
        f"--user-data-dir={profile}", "--virtual-time-budget=60000", "--dump-dom", page.as_uri(),
    ]  # fmt: skip
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout


def computed(script: str, folder: Path) -> Any:
    """What the script's variable `answer` is in the browser: numbers to the last bit, NaN and infinities among them."""
    page = folder / "page.html"
    page.write_text(
        f"""<!doctype html><meta charset="utf-8"><body><script>
let answer;
try {{ {script}
}} catch (error) {{ answer = "error: " + error.stack; }}
const odd = (key, x) => (typeof x === "number" && !Number.isFinite(x) ? String(x) : x);
const arrays = (key, x) => (ArrayBuffer.isView(x) ? Array.from(x) : x);
document.body.textContent = JSON.stringify(JSON.parse(JSON.stringify(answer, (k, x) => arrays(k, odd(k, x))), odd));
</script></body>"""
    )
    body = re.search(r"<body>(.*)</body>", drawn(page, folder / "profile"), re.S)
    assert body is not None
    answer = json.loads(html.unescape(body[1]))
    assert not (isinstance(answer, str) and answer.startswith("error")), answer
    return answer


def number(x: Any) -> float:
    """A number from the browser: those that JSON does not know come as text."""
    return float({"Infinity": "inf", "-Infinity": "-inf"}.get(x, x)) if isinstance(x, str) else float(x)
