"""What solving our models says about statements of the paper."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from tcpdynamics.models import LeapTimeout, LeapTransfer, OverloadedStar

from ..findings import Answer, Finding, finding, listed, near

#: Loss of data and of acknowledgements at which the closed forms are asked; section 3 takes them as equal.
LOSSES = (0.01, 0.02, 0.05, 0.1, 0.2)


@finding("density", "section 6.2", "the transition comes at 2.75 a second, with LEAP at 3.25", "leap.law")
def density() -> Answer:
    plain = float(OverloadedStar(density=1.0).critical_density())
    wasted = [float(OverloadedStar(density=1.0, duplicates=d).critical_density()) for d in (0.05, 0.1, 0.2)]
    finished = float(OverloadedStar(density=3.5).finished())
    return Answer(
        "links are full at 3.15 transfers a second if each segment comes but once; a tenth of duplicates takes "
        "that to 2.86, and no sender can finish more than 80 % of 3.5 a second",
        f"critical density {plain:.4f}/s, with 5, 10, 20 % of duplicates {', '.join(f'{x:.3f}' for x in wasted)}; "
        f"finished at 3.5/s {finished:.4f}",
        near([plain, wasted[1], finished], [3.1460, 2.8600, 0.8048], 3),
        {"critical": plain, "finished": finished, "with_tenth": wasted[1]},
    )


@finding("causes", "section 3", "with small windows a lost acknowledgement often causes a timeout", "leap.causes")
def causes() -> Answer:
    five = LeapTimeout(0.1, 0.2, 5)
    share = {w: [float(LeapTimeout(p, p, w).ack_share()) for p in LOSSES] for w in (1, 2, 4, 8)}
    return Answer(
        "with a window of one, (1-p)/(2-p) of the timeouts, nearly half, are due to lost acknowledgements; with eight "
        "segments almost none",
        f"share at 5 % loss with windows of 1, 2, 4, 8: {', '.join(f'{share[w][2]:.4f}' for w in share)}",
        near(share[1], [(1 - p) / (2 - p) for p in LOSSES], 9) and max(share[8]) < 0.01
        and near([float(five.ack_caused()), float(five.data_caused())], _counted(0.1, 0.2, 5), 12),
        {"one": share[1], "eight": share[8], "eight_over_one": [b / a for a, b in zip(share[1], share[8], strict=True)],
         "readings": [f"loss {p:g}" for p in LOSSES]},
    )  # fmt: skip


def _counted(p: float, a: float, window: int) -> list[float]:
    """Probabilities of both causes of a timeout, by counting every fate of a window's segments."""
    fates, chances = {"lost": p, "silent": (1 - p) * a, "answered": (1 - p) * (1 - a)}, [0.0, 0.0]
    for every in itertools.product(fates, repeat=window):
        weight, back = float(np.prod([fates[f] for f in every])), every.count("answered")
        chances[0] += weight * (every[0] == "silent" and back == 0)
        chances[1] += weight * (every[0] == "lost" and back <= 2)
    return chances


@finding(
    "suspicion", "section 4", "without duplicate acknowledgements an acknowledgement's loss is likely", "leap.causes"
)
def suspicion() -> Answer:
    right = {w: [float(LeapTimeout(p, p, w).suspicion_right()) for p in LOSSES] for w in (1, 4)}
    return Answer(
        "the suspicion is right in (1-p)/(2-p) of the cases, less than half, whatever the window: silence says as "
        "much for a lost segment as for a lost acknowledgement",
        f"right at 5 % loss with windows of 1 and 4: {right[1][2]:.4f}, {right[4][2]:.4f}",
        near(right[1], [(1 - p) / (2 - p) for p in LOSSES], 9) and near(right[1], right[4], 9),
        {"one": right[1], "four": right[4], "readings": [f"loss {p:g}" for p in LOSSES]},
    )


@finding("transfers", "section 6.1", "LEAP leaves nearly no duplicates, and sends less", "leap.closed")
def transfers() -> Answer:
    models = [LeapTransfer(p, p) for p in LOSSES]
    duplicates = [float(m.duplicates_leap()) / float(m.duplicates_plain()) for m in models]
    sent = [float(m.transmissions_leap()) / float(m.transmissions_plain()) for m in models]
    plain = [float(m.duplicates_plain()) for m in models]
    return Answer(
        "with windows of one LEAP leaves a share of duplicates that grows with the loss, three times the loss when "
        "that is small, and sends fewer segments",
        f"duplicates left {', '.join(f'{x:.4f}' for x in duplicates)}, sent {', '.join(f'{x:.4f}' for x in sent)} "
        f"of those without it, at losses of {', '.join(f'{p:g}' for p in LOSSES)}",
        bool(np.all(np.diff(duplicates) > 0) and max(sent) < 1 and near(plain, [p / (1 - p) for p in LOSSES], 9)
             and abs(duplicates[0] / LOSSES[0] - 3) < 0.15
             # What is received, less one, is a duplicate.
             and near([float(m.duplicates_leap()) for m in models],
                      [(1 - p) * float(m.transmissions_leap()) - 1 for p, m in zip(LOSSES, models, strict=True)], 12)),
        {"left": duplicates, "sent": sent, "plain": plain,
         "saving": [1 / x for x in sent], "readings": [f"loss {p:g}" for p in LOSSES]},
    )  # fmt: skip


#: A cell of Table 1 at which senders differ most: finished over generated at 3.5 a second, Reno and LEAP.
BUSIEST = {"Reno": "leap.table1.reno.3_50", "LEAP": "leap.table1.leap.3_50"}


@finding("one loss of all acks", "section 4, Fig. 5", "a leap after the loss of all acknowledgements")
def mechanism() -> Answer:
    """A window of four over a path of 100 ms; segment 4 and the acknowledgements of segments 1 to 3 are lost."""
    orders, duplicates, waits = {}, {}, {}
    for name, leap in (("Reno", False), ("LEAP", True)):
        orders[name], duplicates[name], waits[name] = _after_window(leap)
    order = orders["LEAP"]
    numbers: dict[str, Any] = {
        "duplicates_reno": duplicates["Reno"], "duplicates_leap": duplicates["LEAP"],
        "leap_segment": order[0], "next_segment": order[1], "second_segment": order[2],
    }  # fmt: skip
    return Answer(
        "a leap to segment 5 is answered by a request for 4, after which 6 goes: nothing is sent twice in vain",
        f"after the timeout Reno sends {listed(orders['Reno'], 0)}, LEAP {listed(order, 0)}; duplicates "
        f"{duplicates['Reno']:.0f} and {duplicates['LEAP']:.0f}",
        duplicates["LEAP"] == 0 < duplicates["Reno"] and waits["LEAP"] < 0.1, numbers,
    )  # fmt: skip


def _after_window(leap: bool) -> tuple[list[float], float, float]:
    """First three segments that go after the timeout, counted from 1; duplicates; time from the second to the third.

    The third goes with the second if the window lets one segment more pass in the leap segment's stead.
    """
    from tcpdynamics.validation.packet import parse_scenario, simulate

    flow = {
        "sender": "reno", "leap": leap, "source": "a", "target": "b", "segments": 40, "window_limit": 100,
        "initial_window": 4, "handshake": False, "delayed_ack": "0s", "packet_size": 576, "min_rto": "1s",
    }  # fmt: skip
    table: dict[str, Any] = {
        "duration": "60s", "warm_up": "0s", "epoch": "1s", "slice": "60s", "seed": 1, "flows": [flow],
        "links": [{"source": "a", "target": "b", "rate": "10Mbit/s", "delay": "50ms"}],
        "drops": [{"segment": 3}, *({"ack": i} for i in range(3))], "record": {"sends": True},
    }  # fmt: skip
    result = simulate(parse_scenario(table))
    sent, times = result.send_segment.values, result.send_time.values
    return [float(s) + 1 for s in sent[4:7]], float(result.duplicates.sum()), float(times[6] - times[5])


@finding("duplicates of Table 1", "Table 1", "42.9 % of Reno's transfers finish at 3.5 a second", "leap.table1")
def printed_duplicates() -> Answer:
    """Duplicates for each segment with which shared links finish just what is printed, at 3.5 a second."""
    from .. import ledger

    claims, needed = ledger.claims("leap"), {}
    for sender, name in BUSIEST.items():
        share = claims[name].published if name in claims else None
        needed[sender] = _needed(float(share), 3.5) if isinstance(share, float) else np.nan
    return Answer(
        "links that are shared evenly finish so few with Reno only if a third of what arrives had come before; with "
        "LEAP, if a twenty-fifth had",
        ", ".join(f"{sender}: {100 * d:.1f} duplicates a transfer" for sender, d in needed.items()),
        0.3 < needed["Reno"] < 0.36 and 0.03 < needed["LEAP"] < 0.05,
        {"duplicates_reno": float(needed["Reno"]), "duplicates_leap": float(needed["LEAP"])},
    )


def _needed(share: float, density: float) -> float:
    """Inverse of `OverloadedStar.finished` in the duplicates: x = e^(-rho (1 - x)).

    >>> round(_needed(0.429, 3.5), 3)
    0.332
    """
    load = np.log(1 / share) / (1 - share)
    return float(load * OverloadedStar(density=density).critical_density() / density - 1)


#: In the order of the paper.
FINDINGS: tuple[Finding, ...] = (causes, suspicion, mechanism, transfers, density, printed_duplicates)
