"""How a sender's chain grows with its window: states, time, memory.

`python benchmarks/sender_chain.py [windows, such as 2:5] [most states]` prints the table of docs/sender_chain.md, one
row a sender, rule book and window: states of the simulator, those that recur, classes of these that behave alike,
states of the chain (with its waits), seconds of CPU time to explore and to lump, and by how much the process grew.
Each row is a process of its own, in which everything is compiled before the clock starts.
"""

from __future__ import annotations

import multiprocessing
import resource
import sys
import time

from tcpdynamics.validation.sender_chain import Sender, SenderChainError
from tcpdynamics.validation.sender_chain.chain import compiled
from tcpdynamics.validation.sender_chain.explore import MOST_STATES, explore
from tcpdynamics.validation.sender_chain.model import RULES, SENDERS


def row(sender: str, rules: str, window: int, most_states: int) -> str:
    """One line of Markdown."""
    model = Sender(sender=sender, rules=rules, window=window, loss=0.1)
    setting = model.setting()
    named = f"| {sender} | {rules} | {window} | {model.distinct_halvings() or ''} | {setting.tick or ''} |"
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.process_time()
    try:
        chain = compiled(explore(setting, most_states))
    except SenderChainError as error:
        return f"{named} {error} | | | | {time.process_time() - start:.1f} | |"
    seconds = time.process_time() - start
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    counts = (chain.explored, chain.recurrent, len(chain.instants), len(chain.labels))
    return f"{named} {' | '.join(f'{n:,}' for n in counts)} | {seconds:.1f} | {grown:.0f} |"


def main(windows: str = "2:5", most_states: str = str(MOST_STATES)) -> None:
    """Print the table."""
    first, last = (int(x) for x in windows.split(":"))
    explore(Sender(sender="tahoe", rules="rfc", window=1, loss=0.1).setting())
    print("| sender | rules | window | halvings | tick | states | recur | alike | of the chain | CPU [s] | MB |")
    print("|---|---|---|---|---|---|---|---|---|---|---|")
    processes = multiprocessing.get_context("fork")
    for rules in reversed(RULES):
        for sender in SENDERS:
            for window in range(first, last + 1):
                with processes.Pool(1) as pool:
                    print(pool.apply(row, (sender, rules, window, int(most_states))), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
