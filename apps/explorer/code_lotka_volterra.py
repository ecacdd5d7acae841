"""The lines of Python that give the numbers of each picture of the page of Lotka-Volterra flows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .page import Values
from .tables import PLANE


@dataclass(frozen=True)
class Motion:
    """What the code of a picture is made of.

    Attributes
    ----------
    model, alone : str
        As Python: the flows' model, and one flow's alone.
    name, alone_name : str
        Their classes.
    kind, alone_kind : str
        Which problem each has: "dde", "map" or "ode".
    shares : str
        Rates at time 0 over the first flow's capacity, as Python.
    times : int
        When continuous motions are drawn.
    """

    model: str
    alone: str
    name: str
    alone_name: str
    kind: str
    alone_kind: str
    shares: str
    times: int


def head(m: Motion, values: Values, more: str = "") -> str:
    """The rates of the flows at the times of the picture."""
    n, K = int(values["flows"]), values["capacity"]
    whole = values["reading"] in ("map", "stale", "held")
    times = f"np.arange({int(values['end']) + 1})" if whole else f"np.linspace(0, {values['end']!r}, {m.times})"
    return (
        "from dataclasses import replace\n\n"
        "import numpy as np\n"
        "import pandas as pd\n"
        f"{more}"
        f"from tcpdynamics.models import {m.alone_name}, {m.name}, per_flow\n"
        "from tcpdynamics.models.lotka_volterra.presence import joining\n"
        "from tcpdynamics.solvers import trajectory\n\n"
        f"model, times = {m.model}, {times}\n"
        f"there = {{'N[1]': (-1, {values['leaves']!r}), 'N[{n}]': ({values['joins']!r}, np.inf)}}\n"
        f"problem = joining(model.{m.kind}(), there)\n"
        f"problem = replace(problem, start=dict(zip(problem.labels, {K!r} * {m.shares})))\n"
        'sent = trajectory(problem, times).sent.transpose("flow", "time").values\n'
        f"sent = np.where(abs(sent) < {20 * K * values['ratio']!r}, sent, np.nan)  # a map that "
        "left its interval does not come back\n"
    )


def rates(m: Motion, values: Values) -> str:
    """The rate of each flow, and of a flow alone."""
    return head(m, values) + (
        f"alone = trajectory({m.alone}.{m.alone_kind}(), times).w.values\n"
        'table = pd.DataFrame({"time [RTT]": times} | {f"flow {i + 1}": rate for i, rate in enumerate(sent)})\n'
        'table["a flow alone (logistic)"] = np.where(abs(alone) < '
        f"{20 * values['capacity'] * values['ratio']!r}, alone, np.nan)\n"
        "print(table)\n"
    )


def plane(m: Motion, values: Values, point: dict[str, Any]) -> str:
    """Two of the flows: the motion, where each stands still, and the points of rest."""
    n, K = int(values["flows"]), values["capacity"] * values["ratio"]
    more = "from tcpdynamics.apps.explorer.pages.p2_lotka_volterra import nullclines, points_of_rest\n"
    return (
        head(m, values, more)
        + (
            "one, other = sent[0], np.where(np.isfinite(sent[0]), sent[-1], np.nan)\n"
            f"top = 1.05 * np.nanmax([{K!r}, *np.fmin([sent[0], sent[-1]], {3 * K!r}).ravel()])\n"
            f"point = {point!r}\n"
            "settled, solo, lone = points_of_rest(**point)\n"
            "places, first, last = nullclines(top, **point)  # where the right-hand side changes its sign\n"
            "lines = {\n"
            f'    "where they settle": ([settled[0]], [settled[-1]]), "flow 1 alone; flow {n} alone; no '
            'flow": ([solo[0], 0, 0], [0, lone[-1], 0]), "motion": (one, other),\n'
            '    "flow 1 is constant": (first, np.where(np.isfinite(first), places, np.nan)), '
            f'"flow {n} is constant": (places, last),\n'
            "}"
        )
        + PLANE.format(x="flow 1 [packet/s]", y=f"flow {n} [packet/s]")
    )


def chart(m: Motion, values: Values, across: str, fields: dict[str, Any], point: dict[str, Any], exact: bool) -> str:
    """The boundary by the closed form for flows alike; with unequal access links, by exact roots."""
    low, high = (0.02, 3.0) if across == "delay" else (0.0, 0.98)
    fixed = "".join(f", {k}={v!r}" for k, v in fields.items() if k not in ("epsilon", across, "link"))
    text = (
        "import numpy as np\n"
        "import pandas as pd\n"
        "import xarray as xr\n"
        + ("from tcpdynamics.apps.explorer.pages.p2_lotka_volterra import exact_boundary\n" if exact else "")
        + f"from tcpdynamics.models import {m.name}\n\n"
        f'x = xr.DataArray(np.linspace({low}, {high}, 81), dims="point")\n\n'
        "def stable(gain):\n"
        f"    return {m.name}(epsilon=gain, {across}=x{fixed}).stability_margin() > 0\n\n"
        "low, high = xr.full_like(x, 1e-6), xr.full_like(x, 8.0)\n"
        "always = stable(high)\n"
        "for _ in range(50):\n"
        "    middle = (low + high) / 2\n"
        "    low, high = xr.where(stable(middle), middle, low), xr.where(stable(middle), high, middle)\n"
        "edge = xr.where(always, 8.0, high).values\n"
        'name = "boundary of stability" if (edge < 4).any() else "no boundary: always stable"\n'
        "lines = {\n"
        f'    "the sliders": ([{values[across]!r}], [{values["epsilon"]!r}]),\n'
        '    "stable, flows alike": (x.values[[0, *range(81), 80]], [0, *np.minimum(edge, 4.08), 0]),\n'
        "    name: (x.values, np.where(edge > 6, np.nan, edge)),\n"
        "}"
    )
    if exact:
        text += (
            f"\ncurves = exact_boundary({point!r})['curves']\n"
            "exact = [[v for c in curves for v in (*c[k], np.nan)] for k in (0, 1)]\n"
            "lines[f\"by exact roots, these access links{'' if curves else ': no boundary here'}\"] = exact"
        )
    name = "delay τ [RTT]" if across == "delay" else "weight of the others γ"  # noqa: RUF001
    return text + PLANE.format(x=name, y="gain ε")


def ends(m: Motion, values: Values, fields: dict[str, Any], capacities: list[float], point: dict[str, Any]) -> str:
    """Where the sum of the rates ends up: of a map its orbit, else its least and its largest value."""
    table = 'table = pd.DataFrame(rows, columns=["gain ε", "sum of the rates"])\nprint(table)\n'
    if m.kind == "map":
        return (
            "import pandas as pd\n"
            "from tcpdynamics.apps.explorer.pages.p2_lotka_volterra import ends_of_a_map\n\n"
            f"rows = ends_of_a_map(**{point!r})  # step by step with the page's own program\n{table}"
        )
    rest = ", ".join(f"{k}={v!r}" for k, v in fields.items() if k != "epsilon")
    return (
        "from dataclasses import replace\n\n"
        "import numpy as np\n"
        "import pandas as pd\n"
        f"from tcpdynamics.models import {m.name}, per_flow\n"
        "from tcpdynamics.solvers import trajectory\n\n"
        "def largest(v):  # of the polynomial through five neighbouring samples\n"
        "    i = int(np.clip(np.argmax(v), 2, len(v) - 3))\n"
        "    c = np.polyfit(range(-2, 3), v[i - 2 : i + 3] - v[i], 4)\n"
        "    return v[i] + max(0.0, np.polyval(c, np.linspace(-2, 2, 4001)).max())\n\n"
        "rows = []\n"
        "for gain in np.linspace(0.05, 4.0, 48):\n"
        f"    motion = {m.name}(epsilon=gain, {rest}, capacity=per_flow({capacities!r})).{m.kind}()\n"
        f"    start = dict(zip(motion.labels, {values['capacity']!r} * {m.shares}))\n"
        "    times = np.append(0, 240 * max(1, 1 / gain) + np.linspace(0, 60, 6001))\n"
        "    total = trajectory(replace(motion, start=start), times, rtol=1e-10).total.values[1:]\n"
        "    if np.isfinite(total).all():\n"
        "        rows += [(gain, -largest(-total)), (gain, largest(total))]\n"
        f"{table}"
    )
