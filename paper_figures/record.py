"""Make the record: decide the claims of papers at the full setting, and write the `recorded.json` of each.

    python -m tcpdynamics.paper_figures.record STORES [PAPER ...]

It takes hours. What has run is kept in the folder STORES; killed, the same command goes on there. It needs a commit
without changes beside it, later than the one that fixed the paper's protocol.
"""

from __future__ import annotations

import json
import os
import sys
from concurrent.futures import ProcessPoolExecutor
from importlib import resources
from multiprocessing import get_context
from pathlib import Path

from .ledger import ledger
from .papers import PAPERS
from .protocol import seal
from .whole import commit, decide_all


def main(stores: str = "", *papers: str) -> None:
    """Run the papers, all of them where none is named."""
    if not stores:
        sys.exit("record: STORES is missing; give a folder")
    if unknown := [paper for paper in papers if paper not in PAPERS]:
        sys.exit(f"record: PAPER must be one of {', '.join(PAPERS)}, got {unknown[0]!r}")
    if not commit() or commit().endswith("+"):
        sys.exit("record: files differ from the commit, or there is none; commit first")
    for paper in papers or PAPERS:
        if seal(paper) != ledger().fixed[paper]["sealed"]:
            sys.exit(f"record: the protocol of {paper} is not sealed (python -m tcpdynamics.paper_figures.seal)")
        with ProcessPoolExecutor(os.cpu_count(), get_context("spawn")) as executor:
            whole = decide_all(
                "full", [paper], stores=Path(stores), executor=executor,
                progress=lambda name, share: print(f"\r{share:6.1%} {name:40}", end="", file=sys.stderr, flush=True),
            )  # fmt: skip
        path = Path(str(resources.files(__package__).joinpath(paper, "recorded.json")))
        path.write_text(json.dumps(whole.document(), separators=(",", ":")) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
