"""Where the kernel that was built stands, and what it was built of."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
#: What the build depends on beside the source.
OPTIONS, RANDOMNESS = HERE / "kernel.config", HERE / "randomness.c"
#: A variable that names the folder of a kernel built elsewhere.
FOLDER = "TCPDYNAMICS_LINUX"


def cache() -> Path:
    """Where kernels are kept."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    base = base if os.path.isabs(base) else os.path.expanduser("~/.cache")  # without a home no folder, and no build
    return Path(base) / "tcpdynamics" / "linux"


def fingerprint(source: str) -> str:
    """Of a source's version and our options.

    Examples
    --------
    >>> len(fingerprint("6.1"))
    16
    """
    parts = [source.encode(), OPTIONS.read_bytes(), RANDOMNESS.read_bytes()]
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:16]


def kernels() -> list[Path]:
    """Folders of the kernels that are built with today's options, the newest version last."""
    folder = os.environ.get(FOLDER)
    folders = [Path(folder)] if folder else sorted(cache().glob("*/"))
    return sorted((path for path in folders if _complete(path)), key=lambda path: _order(manifest(path)["version"]))


def absent() -> str:
    """That there is no kernel, and where one was looked for."""
    folder = os.environ.get(FOLDER)
    if folder:
        return f"{FOLDER} names {folder}, which holds no kernel that was made with today's options"
    return f"no kernel is made in {cache()}"


def _complete(folder: Path) -> bool:
    try:
        facts = manifest(folder)
        return (folder / "linux").is_file() and facts["fingerprint"] == fingerprint(facts["version"])
    except (OSError, ValueError, KeyError):
        return False


def manifest(folder: Path) -> dict[str, Any]:
    """What a kernel was built of."""
    facts: dict[str, Any] = json.loads((folder / "manifest.json").read_text())
    return facts


def _order(version: str) -> list[int]:
    return [int(part) for part in version.replace("-", ".").split(".") if part.isdigit()]


def installed() -> bool:
    """Whether Linux can be run as a reference.

    Returns
    -------
    bool
        Whether a kernel is built: `python -m tcpdynamics.validation.linux build`.

    Examples
    --------
    >>> isinstance(installed(), bool)
    True
    """
    return bool(kernels())
