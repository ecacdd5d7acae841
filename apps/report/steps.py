"""How far the report is: each step with its share of the whole, whichever process works on it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tcpdynamics.progress import listening

from ..files import marked, settings_mark

#: Called with a step's name and the share of the step that is done.
Tell = Callable[[str, float], None]

#: Seconds of one core that each step takes, in the report and in the quick one. They only weigh the steps.
SECONDS = {
    "solving the sub-packet chain": (2, 2),
    "simulating Fig. 9": (65, 4),
    "simulating Fig. 10, 250 kbit/s": (11, 2),
    "simulating Fig. 10, 500 kbit/s": (23, 2),
    "simulating Fig. 11, mixed RTTs": (65, 4),
    "comparing packets with ns-2": (10, 4),
    "comparing window rules with their laws": (5, 2),
    "comparing queues": (3, 1),
    "comparing LEAP with its models": (13, 0),
    "comparing T-REFWA's router with its models": (6, 0),
    "comparing what locks flows out": (4, 0),
    "comparing priority of retransmissions with its models": (2, 0),
    "comparing M/TCP with its models": (8, 0),
    "comparing logistic control with its models": (4, 0),
    "comparing chains of senders": (4, 0),
    "climbing the ladder of assumptions": (14, 0),
    "comparing with Linux": (12, 0),
    "repeating the sub-packet paper on Linux": (20, 0),
    "drawing the papers' figures and charts": (2, 2),
    "comparing with fluids: logistic control": (1, 1),
    "comparing with fluids: Lotka-Volterra control": (6, 2),
    "comparing with fluids: T-REFWA": (3, 1),
    "comparing with fluids: TCP on a marking link": (6, 2),
    "checking the papers' statements": (7, 7),
}


class Progress:
    """Adds up the steps that two processes and several threads tell of."""

    def __init__(self, quick: bool, show: Callable[[float, str], None]) -> None:
        self.weights = {name: seconds[quick] for name, seconds in SECONDS.items()}
        self.parts = dict.fromkeys(SECONDS, 0.0)
        self.show = show

    def __call__(self, step: str, part: float) -> None:
        self.parts[step] = part
        done = sum(self.weights[name] * self.parts[name] for name in SECONDS)
        self.show(done / sum(self.weights.values()), step)


@contextmanager
def step(name: str, tell: Tell) -> Iterator[None]:
    """One step: it begins, its loops say how far they are, it is done."""
    tell(name, 0.0)
    with listening(lambda share: tell(name, share)):
        yield
    tell(name, 1.0)


def holds(quick: bool) -> str:
    """What a report holds, by which its file is known again."""
    return marked("report", settings_mark({"quick": quick}))
