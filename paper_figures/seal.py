"""Seal the ledger: write the digest of all that decides, and the commit that fixed it, into `claims.toml`.

    python -m tcpdynamics.paper_figures.seal COMMIT

It is run once, when rules are new, before anything is run by them; a rule that changes later shows in the seal, and
says in its claim's `note` what it was and why it changed.
"""

from __future__ import annotations

import re
import sys
from importlib import resources
from pathlib import Path

from .ledger import ledger, seal


def main(commit: str) -> None:
    """Write the seal."""
    if not re.fullmatch(r"[0-9a-f]{7,40}", commit):
        sys.exit(f"seal: COMMIT must be the hash of a commit, got {commit!r}")
    path = Path(str(resources.files(__package__).joinpath("claims.toml")))
    text = path.read_text(encoding="utf-8")
    text = re.sub(r'(?m)^committed = "[^"]*"', f'committed = "{commit}"', text, count=1)
    text = re.sub(r'(?m)^sealed = "[^"]*"', f'sealed = "{seal(ledger().claims.values())}"', text, count=1)
    path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) == 2 else "")
