"""Seal the protocol: write the digest of all that decides, and the commit that fixed it, into `seal.toml`.

    python -m tcpdynamics.paper_figures.seal [COMMIT]

It is run when a protocol is new, before anything is run by it, and once more when the commit that holds it is known. A
change later shows in the seal, and has an entry in its paper's `amendments.toml`.
"""

from __future__ import annotations

import re
import sys
from importlib import resources
from pathlib import Path

from .protocol import seal


def main(commit: str = "") -> None:
    """Write the seal; without a commit, that of the last one stays."""
    if commit and not re.fullmatch(r"[0-9a-f]{7,40}", commit):
        sys.exit(f"seal: COMMIT must be the hash of a commit, got {commit!r}")
    path = Path(str(resources.files(__package__).joinpath("seal.toml")))
    text = path.read_text(encoding="utf-8")
    if commit:
        text = re.sub(r'(?m)^committed = "[^"]*"', f'committed = "{commit}"', text, count=1)
    text = re.sub(r'(?m)^sealed = "[^"]*"', f'sealed = "{seal()}"', text, count=1)
    path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:2])
