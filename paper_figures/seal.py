"""Seal protocols: write the digest of all that decides a paper's claims, and the commit that fixed it, to `seal.toml`.

    python -m tcpdynamics.paper_figures.seal [--amended] [COMMIT [PAPER ...]]

It is run when a protocol is new, before anything is run by it, and once more when the commit that holds it is known
(of all papers where none is named). A change later shows in the seal, and has an entry in its paper's
`amendments.toml`; where results were known, --amended names the commit that holds it beside the first one.
"""

from __future__ import annotations

import re
import sys
from importlib import resources
from pathlib import Path

from .papers import PAPERS
from .protocol import seal

_ABOUT = (
    "# Of each paper the commit that fixed its protocol, the one that amended it after results were known, and a\n"
    "# digest of all that decides (seal.py)\n"
)


def main(*words: str) -> None:
    """Write the seals; a paper keeps its commit where none is given for it."""
    from .ledger import ledger

    key = "amended" if "--amended" in words else "committed"
    commit, *papers = [word for word in words if word != "--amended"] or [""]
    if commit and not re.fullmatch(r"[0-9a-f]{7,40}", commit):
        sys.exit(f"seal: COMMIT must be the hash of a commit, got {commit!r}")
    if unknown := [paper for paper in papers if paper not in PAPERS]:
        sys.exit(f"seal: PAPER must be one of {', '.join(PAPERS)}, got {unknown[0]!r}")
    fixed = {paper: dict(facts) for paper, facts in ledger().fixed.items()}
    for paper in papers or PAPERS:
        fixed[paper] |= {key: commit} if commit else {}
    by = {paper: {"committed": "", **fixed[paper], "sealed": seal(paper)} for paper in PAPERS}
    parts = [f"\n[{paper}]\n" + "".join(f'{name} = "{text}"\n' for name, text in by[paper].items()) for paper in PAPERS]
    Path(str(resources.files(__package__).joinpath("seal.toml"))).write_text(_ABOUT + "".join(parts), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
