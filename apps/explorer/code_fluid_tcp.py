"""The lines of Python that give the numbers of each picture of the page of fluid TCP."""

from __future__ import annotations

from typing import Any

from .page import Values
from .tables import PLANE

#: Times that a trajectory is drawn at.
TIMES = 601


def head(model: type[Any], fields: dict[str, Any], values: Values, more: str = "") -> str:
    """The motion, and where it rests."""
    return (
        "import numpy as np\n"
        "import pandas as pd\n"
        f"{more}"
        f"from tcpdynamics.models import {model.__name__}\n"
        "from tcpdynamics.solvers import trajectory\n\n"
        f"model = {model.__name__}({', '.join(f'{k}={v!r}' for k, v in fields.items())})\n"
        "rest = model.equilibrium()\n"
        "delay = min(rest.rtt, model.base_rtt + model.buffer / model.capacity)\n"
        f"motion = trajectory(model.dde(), np.linspace(0, {values['end']!r} * delay, {TIMES}))\n"
    )


def window(model: type[Any], fields: dict[str, Any], values: Values) -> str:
    """The mean window."""
    return head(model, fields, values) + (
        'table = pd.DataFrame({"time [s]": motion.time, "window": motion.W, "at rest": rest.window})\nprint(table)\n'
    )


def queue(model: type[Any], fields: dict[str, Any], values: Values) -> str:
    """The queue."""
    return head(model, fields, values) + (
        'table = pd.DataFrame({"time [s]": motion.time, "queue": motion.q, "at rest": rest.queue})\n'
        "if max(motion.q.max(), rest.queue) > 0.3 * model.buffer:\n"
        '    table["buffer"] = model.buffer\n'
        "print(table)\n"
    )


_VERDICT = 'verdict = "stable" if model.stability_margin() > 0 else "unstable"  # by the exact linearisation\n'


def plane(model: type[Any], fields: dict[str, Any], values: Values) -> str:
    """Window and queue, the point of rest, and the last swing."""
    more = "from tcpdynamics.apps.explorer.swings import swing  # the last swing of samples\n"
    return (
        head(model, fields, values, more)
        + _VERDICT
        + (
            "q, W = motion.q.values, motion.W.values\n"
            "swings = [(swing(motion.time, q), max(1, rest.queue), max(1, q.max(), rest.queue)),\n"
            "          (swing(motion.time, W), rest.window, max(W.max(), rest.window))]\n"
            "large = [(one, top) for one, size, top in swings if one and one.high - one.low > 1e-3 * size]\n"
            "last, top = large[0] if large else (None, 0)\n"
            'lines = {f"point of rest: {verdict}": ([rest.window], [rest.queue]), "motion": (W, q)}\n'
            "if last and last.high - last.low > 0.05 * top:  # else the point of rest hides it\n"
            "    part = slice(last.first, last.last + 1)\n"
            '    lines["last swing"] = W[part], q[part]'
        )
        + PLANE.format(x="window [packet]", y="queue [packet]")
    )


def _boundary(marking: str, fields: dict[str, Any]) -> str:
    """A call of the page's boundary; its times are put in at {}."""
    listed = ", ".join(f"{k}={v!r}" for k, v in fields.items())
    return f'boundary("{marking}", {{}}, {listed})'


def chart(model: type[Any], fields: dict[str, Any], values: Values) -> str:
    """The boundary of stability, and the sliders."""
    across = _boundary(values["marking"], fields).format("np.linspace(0.005, 1.5, 120)")
    return (
        "import numpy as np\n"
        "import pandas as pd\n"
        "from tcpdynamics.apps.explorer.pages.p4_fluid_tcp import boundary  # where stability_margin() is 0\n"
        f"from tcpdynamics.models import {model.__name__}\n\n"
        f"model = {model.__name__}({', '.join(f'{k}={v!r}' for k, v in fields.items())})\n"
        f"{_VERDICT}"
        f"edge = {across}\n"
        "edge = edge[edge[:, 2] > 0]\n"
        'lines = {f"the sliders: {verdict}": ([model.flows], [model.base_rtt]), "boundary of '
        'stability": (edge[:, 0], edge[:, 1])}'
    ) + PLANE.format(x="flows", y="base round-trip time [s]")


def facts(model: type[Any], fields: dict[str, Any], values: Values) -> str:
    """Rest and swing."""
    more = (
        "from tcpdynamics.apps.explorer.pages.p4_fluid_tcp import boundary  # where stability_margin() is 0\n"
        "from tcpdynamics.apps.explorer.swings import swing  # the last swing of samples\n"
    )
    return head(model, fields, values, more) + (
        "ones = [(swing(motion.time, motion.q), max(1, rest.queue)), (swing(motion.time, motion.W), rest.window)]\n"
        "queue, window = (one if one and one.high - one.low > 1e-3 * size else None for one, size in ones)\n"
        "height = lambda one: one.high - one.low if one else np.nan\n"
        "last = queue or window\n"
        f"edge = {_boundary(values['marking'], fields).format('[delay]')}[0]\n"
        "rows = {\n"
        '    "small deviations": "die out" if model.stability_margin() > 0 else "grow",\n'
        '    "window at rest": rest.window, "queue at rest": rest.queue, "marked at rest": '
        'rest.loss, "round-trip time at rest": rest.rtt,\n'
        '    "swing of the queue": height(queue), "swing of the window": height(window),\n'
        '    "period": last.period if last else np.nan, "period at the stability boundary": edge[3],\n'
        "}\n"
        'table = pd.DataFrame(rows.items(), columns=["quantity", "value"])\n'
        "print(table)\n"
    )
