"""`python -m tcpdynamics`, and the command `tcpdynamics`."""

from __future__ import annotations

import os
import sys


def main() -> None:
    """Run the command. An interrupt is answered from the first import on."""
    try:
        from tcpdynamics.interrupts import answer_at_once, claim_end

        answer_at_once()
        from tcpdynamics.apps.command.main import main as run
    except KeyboardInterrupt:
        claim_end()
        print("Error: interrupted", file=sys.stderr, flush=True)
        os._exit(130)
    run()


if __name__ == "__main__":
    main()
