"""How a sender's chain grows with its window: states, time, memory.

`python benchmarks/sender_chain.py [windows, such as 2:5] [most states]` prints the table of docs/sender_chain.md, one
row a sender, rule book and window: states of the simulator, classes of states that behave alike, states of the chain
(with its waits), seconds of CPU time to explore and to lump (in a process that has done it before, so that nothing is
compiled), and bytes that exploration held at most, as Python counts them.
"""

from __future__ import annotations

import sys
import time
import tracemalloc

from tcpdynamics.validation.sender_chain import Sender, SenderChainError
from tcpdynamics.validation.sender_chain.chain import compiled
from tcpdynamics.validation.sender_chain.explore import explore
from tcpdynamics.validation.sender_chain.model import RULES, SENDERS


def row(sender: str, rules: str, window: int, most_states: int, memory: bool) -> str:
    """One line of Markdown."""
    model = Sender(sender=sender, rules=rules, window=window, loss=0.1)
    named = f"| {sender} | {rules} | {window} | {model.rounded_to() or ''} |"
    start = time.process_time()
    try:
        explored = explore(model.setting(), most_states)
    except SenderChainError as error:
        return f"{named} {error} | | | {time.process_time() - start:.1f} | |"
    chain = compiled(explored)
    seconds = time.process_time() - start
    held = ""
    if memory:
        tracemalloc.start()
        explore(model.setting(), most_states)
        held = f"{tracemalloc.get_traced_memory()[1] / 1e6:.1f}"
        tracemalloc.stop()
    return f"{named} {chain.explored:,} | {chain.lumped:,} | {len(chain.labels):,} | {seconds:.1f} | {held} |"


def main(windows: str = "2:5", most_states: str = "60_000", memory: str = "") -> None:
    """Print the table."""
    first, last = (int(x) for x in windows.split(":"))
    explore(Sender(sender="tahoe", rules="rfc", window=1, loss=0.1).setting())
    print("| sender | rules | window | rounded to | states | classes | states of the chain | CPU [s] | MB |")
    print("|---|---|---|---|---|---|---|---|---|")
    for rules in reversed(RULES):
        for sender in SENDERS:
            for window in range(first, last + 1):
                print(row(sender, rules, window, int(most_states), bool(memory)), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
