"""Meters of a run: which link measures for which flow, records, random streams, the hook's address."""

from __future__ import annotations

import numpy as np

from ..kernel import hooks
from ..kernel import meters as kernel
from ..kernel import records as k
from ..kernel.streams import streams
from ..scenario.scenario import refuse_above
from .draft import Draft


def fill(draft: Draft) -> None:
    """Append to the memory the records of meters, and write where they are.

    A flow is measured for at the slowest link on its way that carries packets of others, or else at the slowest. Where
    its K was left out, it is the rate of the slowest link.
    """
    scenario, flows, hops, links, memory = draft.scenario, draft.flows, draft.hops, draft.links, draft.memory
    refuse_above(
        float((kernel.METER.itemsize + kernel.WAITING * kernel.ESTIMATE.itemsize) * len(flows)),
        "meters",
        "take fewer flows",
    )
    meters = k.zeroed(len(flows) + len(links), kernel.METER)
    meters["link"] = -1
    meters["begun"] = -1.0
    meters["key"][: len(flows)] = streams(draft.word, (k.MEASURING,), range(len(flows)))[0]
    shared = np.bincount(hops["link"], minlength=len(links)) > 1
    i = 0
    for group in scenario.flows:
        for _ in range(group.count):
            if group.measures:
                way = hops["link"][flows["forward_hop"][i] : flows["forward_end"][i]]
                way = way[np.isfinite(links["rate"][way])]
                if not flows["p2"][i]:
                    flows["p2"][i] = links["rate"][way].min()
                crowded = way[shared[way]] if shared[way].any() else way
                meters["link"][i] = crowded[np.argmin(links["rate"][crowded])]
            i += 1
    used = np.unique(meters["link"][: len(flows)])
    used = used[used >= 0]
    links["departs"][used] = hooks.addresses([kernel], kernel.HOOKS)[0, 0]
    links["served"][used] = 1
    links["capacity"][used] = 0  # a served link has a list, not a ring
    links["course"][used] = [links["course"][i] if scenario.ways[i].changes else -1 for i in used]
    links["meters"] = memory.append(meters)
    links["estimates"] = memory.append(k.zeroed(len(flows) * kernel.WAITING, kernel.ESTIMATE))
