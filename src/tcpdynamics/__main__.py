"""`python -m tcpdynamics`, and the command `tcpdynamics`."""

from __future__ import annotations

import os
import sys


def main() -> None:
    """Run the command. An interrupt is answered from the first import on."""
    from tcpdynamics.shortages import shortage, too_little

    if lack := too_little():
        print(f"Error: {lack}", file=sys.stderr, flush=True)
        sys.exit(2)
    claims = []  # empty as long as nobody else could answer
    try:
        from tcpdynamics.interrupts import answer_at_once, claim_end

        claims.append(claim_end)
        answer_at_once()
        from tcpdynamics.apps.command.main import main as run
    except KeyboardInterrupt:
        for claim in claims:
            claim()
        print("Error: interrupted", file=sys.stderr, flush=True)
        os._exit(130)
    except (MemoryError, OSError, ImportError, SystemError) as error:
        lack = shortage(error)
        if lack is None:
            raise
        print(f"Error: {lack}", file=sys.stderr, flush=True)
        os._exit(2)
    run()


if __name__ == "__main__":
    main()
