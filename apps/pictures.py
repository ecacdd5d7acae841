"""A figure as a page or as a picture."""

from __future__ import annotations

import html
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from .files import PAGE, OutputError, marked_picture, write_whole

if TYPE_CHECKING:
    import plotly.graph_objects as go

_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
_SIZE = (1100, 700)


def page(figure: go.Figure, title: str, *, tools: bool = True) -> str:
    """A page with one figure that needs no network, with or without the tools above it."""
    from plotly.io import to_html
    from plotly.offline import get_plotlyjs

    body = to_html(
        figure,
        {} if tools else {"displayModeBar": False},
        include_plotlyjs=False,
        full_html=False,
        div_id="figure",  # else drawn anew each time: the same result is to give the same bytes
    )
    return (
        f'{PAGE}<meta charset="utf-8"><title>{html.escape(title)}</title>\n'
        f'<script>{get_plotlyjs()}</script></head>\n<body style="font-family: sans-serif; margin: 0">\n{body}\n'
        "</body></html>\n"
    )


def write_png(path: Path, figure: go.Figure) -> None:
    """Write a picture, by kaleido where it is installed, else by a browser without a window."""
    kaleido = _kaleido()
    height = figure.layout.height or _SIZE[1]
    if kaleido is not None:
        content = kaleido(figure, height)
    else:
        still = page(figure.update_layout(width=_SIZE[0]), path.stem, tools=False)
        content = _photograph(still, height, _browser(path))
    write_whole(path, lambda temporary: _write_bytes(temporary, marked_picture(content)))


def check_png(path: Path) -> None:
    """Raise OutputError now if there is nothing to draw with."""
    if _kaleido() is None:
        _browser(path)


def _write_bytes(path: Path, content: bytes) -> None:
    path.write_bytes(content)


def _kaleido() -> Callable[[go.Figure, float], bytes] | None:
    import importlib.util

    if importlib.util.find_spec("kaleido") is None:
        return None

    def draw(figure: go.Figure, height: float) -> bytes:
        try:
            content: bytes = figure.to_image("png", width=_SIZE[0], height=height, scale=2)
        except (RuntimeError, ValueError, OSError) as error:  # no browser for it, or one that does not start
            told = " ".join(str(error).split())[:200]
            raise OutputError(f"cannot draw a PNG: kaleido says {told}; write x.html instead") from None
        return content

    return draw


def _browser(path: Path) -> str:
    named = os.environ.get("BROWSER_PATH")
    found = next((b for b in (named, *map(shutil.which, _BROWSERS)) if b and os.access(b, os.X_OK)), None)
    if found is None:
        raise OutputError(
            f"cannot draw {path}: a PNG needs kaleido or Chromium; install `tcpdynamics[export]`, or write x.html"
        )
    return found


def _photograph(text: str, height: float, browser: str) -> bytes:
    """The page as a browser without a window shows it."""
    with tempfile.TemporaryDirectory(prefix="tcpdynamics") as folder:
        source, target = Path(folder, "page.html"), Path(folder, "page.png")
        source.write_text(text, encoding="utf-8")
        # Chromium refuses its sandbox to root; the page is our own.
        root = ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
        command = [
            browser, "--headless", *root, "--disable-gpu", "--disable-quic", "--no-first-run", "--hide-scrollbars",
            "--disable-background-networking", "--disable-component-update", "--disable-sync",
            f"--user-data-dir={Path(folder, 'profile')}", "--virtual-time-budget=8000",
            "--force-device-scale-factor=2", f"--window-size={_SIZE[0]},{int(height)}", f"--screenshot={target}",
            source.as_uri(),
        ]  # fmt: skip
        try:
            done = subprocess.run(command, capture_output=True, timeout=120, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise OutputError(f"cannot draw a PNG with {browser}: {error}; write x.html instead") from None
        if not target.exists():
            raise OutputError(
                f"cannot draw a PNG: {browser} ended with code {done.returncode} and no picture; write x.html instead"
            )
        return target.read_bytes()
