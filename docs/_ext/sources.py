"""A hash of the sources that pages are made from: a page that a run gives is made again when they change."""

from __future__ import annotations

import functools
import hashlib
from pathlib import Path

ROOT = Path(__file__).parents[2]


@functools.cache
def sources() -> str:
    """Of the package's code, records and scenarios, and of the drawing of thumbnails."""
    parts = [part.resolve() for part in (ROOT / "src" / "tcpdynamics").iterdir()]  # links to folders among them
    files = (path for part in parts for path in (part.rglob("*") if part.is_dir() else [part]))
    chosen = sorted(path for path in files if path.suffix in (".py", ".toml", ".json"))
    digest = hashlib.sha256((Path(__file__).parent / "thumbnails.py").read_bytes())
    for path in chosen:
        digest.update(path.read_bytes())
    return digest.hexdigest()
