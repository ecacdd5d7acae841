"""Prints the law of `control = "logistic"` from its model; run this file when the model's law changes.

`python -m tcpdynamics.validation.packet.print_law` rewrites `kernel/windows/logistic_law.py`. The loop then needs no
SymPy, and the law is compiled and kept on disk like any other hook; a test holds the file against the model.
"""

from __future__ import annotations

from pathlib import Path

#: Arguments of the printed law, the symbols of `models.LogisticAckClocked`.
INPUTS = ("w", "epsilon", "gamma", "capacity", "cross_traffic", "base_rtt")

FILE = Path(__file__).parent / "kernel" / "windows" / "logistic_law.py"

_HEAD = '''"""Printed from `models.LogisticAckClocked.ack_map` by `validation/packet/print_law.py`; not to be edited."""

from __future__ import annotations

from typing import Any

from ..jit import inlined


@inlined
'''


def text() -> str:
    """The file as the model has it now."""
    from tcpdynamics.models import LogisticAckClocked
    from tcpdynamics.solvers.equations import compile_system
    from tcpdynamics.solvers.programs.python import python

    law = compile_system(LogisticAckClocked(base_rtt=1.0).ack_map()).rhs
    return _HEAD + python(law, INPUTS, "next_window", "The window after one acknowledgement [packet].") + "\n"


if __name__ == "__main__":
    FILE.write_text(text())
