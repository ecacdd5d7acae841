"""The lines of Python that give the numbers of each picture of the page of retransmission priority."""

from __future__ import annotations

from typing import Any

from tcpdynamics.models import SharedLink

from .page import Values

#: Packets per flow of the pictures: 2^-4 to 2^2, eight to each doubling, and those of the slider.
SHARES = "np.union1d(2 ** (np.arange(49) / 8 - 4), {})"
#: What is lost: words of the pictures -> settings of the link.
CASES: dict[str, dict[str, Any]] = {
    "without priority": {},
    "with priority": {"retransmission_ratio": 0.0},
    "resent lost 2x": {"retransmission_ratio": 2.0},
    "resent lost 3x": {"retransmission_ratio": 3.0},
    "suffix bursts": {"suffix_losses": True},
}
#: Packets in pipe and buffer of the link that the pictures take: only their number per flow matters.
PACKETS = 100


def link_of(values: Values, shares: Any, case: str) -> SharedLink:
    """A link with so many packets in pipe and buffer per flow."""
    return SharedLink(
        flows=PACKETS / shares, capacity=1e6, base_rtt=0.2, buffer=50, base_timeout=values["base_timeout"],
        backoff_cap=int(values["backoff_cap"]), collapse=int(values["collapse"]), **CASES[case],
    )  # fmt: skip


def _head(values: Values, shares: str, more: str = "") -> str:
    return (
        "import numpy as np\n"
        "import pandas as pd\n"
        "from tcpdynamics.models import SharedLink\n"
        f"from tcpdynamics.solvers import self_consistent{', stationary' * ('stationary(' in more)}\n\n"
        f"shares = {shares}  # packets per flow in pipe and buffer, of {PACKETS}\n"
        f"cases = {CASES!r}\n"
        "links = {name: SharedLink(\n"
        f"    flows={PACKETS} / shares, capacity=1e6, base_rtt=0.2, buffer=50,\n"
        f"    base_timeout={values['base_timeout']!r}, backoff_cap={int(values['backoff_cap'])}, "
        f"collapse={int(values['collapse'])}, **more,\n"
        ") for name, more in cases.items()}\n"
        f"solved = {{name: self_consistent(link.balance(), window={int(values['slice'])}) for name, link in "
        "links.items()}\n"
        f"{more}"
    )


_FLOWS = "flows = {name: link.flow(solved[name].root) for name, link in links.items()}\n"
_LOST = _FLOWS + (
    "lost = {}\n"
    "for name, flow in flows.items():\n"
    "    seen = flow.observe(stationary(flow.chain()))\n"
    "    lost[name] = 1 - seen.goodput / (seen.packets_per_rtt + seen.fast_retransmitted)\n"
)


def _curves(values: Values, of: str, more: str = "", last: str = "") -> str:
    return _head(values, SHARES.format(repr(values["share"])), more) + (
        'table = pd.DataFrame({"packets per flow [packet/RTT]": shares} | '
        f"{{name: {of} for name in cases}}{last})\n"
        "print(table)\n"
    )


def loss(values: Values) -> str:
    """The share of all packets sent that is lost."""
    return _curves(values, "lost[name].values", _LOST)


def repeats(values: Values) -> str:
    """How likely a timeout is followed by another, longer one."""
    return _curves(values, "flows[name].repeat_probability().values", _FLOWS, ' | {"mean silence infinite above": 0.5}')


def silent(values: Values) -> str:
    """The share of time without a packet."""
    return _curves(values, "solved[name].idle.values")


def jain(values: Values) -> str:
    """Jain's index over a slice."""
    return _curves(values, "solved[name].jain.values")


def nothing(values: Values) -> str:
    """The share of flows that get nothing in a slice."""
    return _curves(values, "solved[name].nothing.values")


def facts(values: Values) -> str:
    """The numbers at this share, and the losses at which the mean silence would be infinite."""
    return (
        _head(values, repr(values["share"]), _LOST).replace(
            "import numpy as np\nimport pandas as pd\n", "import pandas as pd\nfrom scipy.optimize import brentq\n"
        )
        + "limits = []\n"
        + "for link in links.values():\n"
        + "    most = (1 - 1e-12) / max(link.retransmission_ratio, 1)\n"
        + "    limits.append(brentq(lambda p: link.flow(p).repeat_probability() - 0.5, 1e-9, most, xtol=1e-14))\n"
        + "rows = {\n"
        + '    "loss of new packets": [one.root.item() for one in solved.values()],\n'
        + '    "loss of all packets": [one.item() for one in lost.values()],\n'
        + '    "silent": [one.idle.item() for one in solved.values()],\n'
        + '    "Jain\'s index": [one.jain.item() for one in solved.values()],\n'
        + '    "nothing": [one.nothing.item() for one in solved.values()],\n'
        + '    "limit": limits,\n'
        + "}\n"
        + 'table = pd.DataFrame([(name, *row) for name, row in rows.items()], columns=["quantity", *cases])\n'
        + "print(table)\n"
    )
