"""The lines of Python that give the numbers of each picture of the pages of T-REFWA and of two bottlenecks."""

from __future__ import annotations

from typing import Any

from .page import Values
from .tables import PLANE

#: The paper's gains.
PUBLISHED = (1.5, 0.5)
#: Groups of flows.
GROUPS = 8


def _call(model: type[Any], fields: dict[str, Any]) -> str:
    return f"{model.__name__}({', '.join(f'{k}={v!r}' for k, v in fields.items())})"


def motion(model: type[Any], fields: dict[str, Any], commands: float, picture: str) -> str:
    """The commanded window or the queue, and where it rests."""
    columns = {
        "window": '"commanded window": motion.Upsilon, "at rest": rest["Upsilon"], '
        f'"bandwidth-delay product": {fields["bdp"]!r}',
        "queue": f'"queue": motion.Q, "at rest": rest["Q"], "buffer": {fields["buffer"]!r}',
    }
    return (
        "import pandas as pd\n"
        f"from tcpdynamics.models import {model.__name__}\n"
        "from tcpdynamics.solvers import trajectory\n\n"
        f"model = {_call(model, fields)}\n"
        f"motion, rest = trajectory(model.map(), range({int(commands) + 1})), model.equilibrium()\n"
        f'table = pd.DataFrame({{"command [interval]": motion.time, {columns[picture]}}})\n'
        "print(table)\n"
    )


def chart(model: type[Any], reading: str, settings: dict[str, Any], gains: tuple[float, float]) -> str:
    """Both boundaries, and the marks."""
    more = "".join(f", {k}={v!r}" for k, v in settings.items())
    return (
        "import numpy as np\n"
        "import pandas as pd\n"
        "from tcpdynamics.apps.explorer.pages.p3_t_refwa import closed_form  # where "
        "stability_margin() changes its sign\n"
        f"from tcpdynamics.models import {model.__name__}\n"
        "from tcpdynamics.solvers import boundary_curves, stability_chart\n\n"
        f'phi, low, high = closed_form("{reading}"{more})\n'
        "gains = np.linspace(0.003, 3.003, 76)\n"
        f"curves = boundary_curves(stability_chart({model.__name__}(phi=gains, psi=gains{more})))\n"
        'exact = [np.concatenate([[*c[f"boundary_{gain}"].values, np.nan] for c in curves]) if '
        'curves else [] for gain in ("phi", "psi")]\n'
        "lines = {\n"
        f'    "the paper\'s gains": ([{PUBLISHED[0]}], [{PUBLISHED[1]}]), "the sliders": '
        f"([{gains[0]!r}], [{gains[1]!r}]),\n"
        '    "stable by the closed form": ([*phi, *phi[::-1]], [*low, *high[::-1]]), "boundary '
        'by exact roots": exact,\n'
        "}"
    ) + PLANE.format(x="gain φ on spare bandwidth", y="gain ψ on free buffer")


def groups(model: type[Any], fields: dict[str, Any], values: Values) -> str:
    """What the groups get of the window at rest."""
    return _groups(model, fields, values) + (
        'aggregate = model.equilibrium()["Upsilon"]\n'
        f"throughput = {int(values['group_flows'])} * groups.rates(float(aggregate)).values\n"
        'table = pd.DataFrame({"round-trip time [s]": times, "a group": throughput})\n'
        'table["their mean"] = throughput.mean()\n'
        f'table["equal shares of the link"] = {values["bdp"]!r} / times.mean() / {GROUPS}\n'
        "print(table)\n"
    )


def _groups(model: type[Any], fields: dict[str, Any], values: Values) -> str:
    return (
        "import numpy as np\n"
        "import pandas as pd\n"
        f"from tcpdynamics.models import RttCode, TRefwaGroups, {model.__name__}\n"
        "from tcpdynamics.solvers import eigenvalues\n\n"
        f"model = {_call(model, fields)}\n"
        f"times = np.linspace({values['rtt_low']!r}, {values['rtt_high']!r}, {GROUPS})\n"
        f"groups = TRefwaGroups(flows=({int(values['group_flows'])},) * {GROUPS}, rtt=tuple(times))\n"
    )


def error(values: Values) -> str:
    """The error of the code, and that of the groups."""
    return (
        "import numpy as np\n"
        "import pandas as pd\n"
        "from tcpdynamics.apps.explorer.pages.p3_t_refwa import cell_grid  # both sides of each cell's ends\n"
        "from tcpdynamics.models import RttCode\n\n"
        "code = RttCode()\n"
        f"times = np.linspace({values['rtt_low']!r}, {values['rtt_high']!r}, {GROUPS})\n"
        "x = np.union1d(cell_grid(code).round(12), times)\n"
        f"x = x[x <= {1.05 * max(values['rtt_high'], values['rtt_low'])!r}]\n"
        "error = 100 * code.relative_error(x)\n"
        'table = pd.DataFrame({"round-trip time [s]": x, "6-bit code": error, "a group": '
        "np.where(np.isin(x, times), error, np.nan)})\n"
        "print(table)\n"
    )


def facts(model: type[Any], fields: dict[str, Any], values: Values) -> str:
    """The numbers at rest."""
    return _groups(model, fields, values) + (
        'aggregate, code = float(model.equilibrium()["Upsilon"]), RttCode()\n'
        "multipliers = eigenvalues(model.map()).eigenvalue.values\n"
        "radius = abs(multipliers).max()\n"
        'fate = "persist" if abs(radius - 1) < 1e-9 else "die out" if radius < 1 else "grow"\n'
        "if abs(multipliers + radius).min() < 1e-7:\n"
        '    fate += ", changing sign every interval"\n'
        "elif abs(multipliers - radius).min() > 1e-7:\n"
        '    fate += ", swinging"\n'
        'elif fate == "persist":\n'
        '    fate = "stay as they are"\n'
        "rates, (low, high) = groups.rates(aggregate).values, code.error_bounds()\n"
        f"link = {values['bdp']!r} / times.mean()  # packet/s\n"
        "rows = {\n"
        '    "small deviations": fate, "modulus of the largest multiplier": radius, "window at rest": aggregate,\n'
        f'    "sum of the rates": {int(values["group_flows"])} * rates.sum() / link,\n'
        '    "a flow\'s rate, largest": rates.max(), "a flow\'s rate, smallest": rates.min(),\n'
        '    "Jain\'s index": groups.fairness(), "least possible Jain\'s index": code.worst_jain(),\n'
        '    "errors within a cell": f"{100 * low:.3g} to {100 * high:.3g}",\n'
        "}\n"
        'table = pd.DataFrame(rows.items(), columns=["quantity", "value"])\n'
        "print(table)\n"
    )


def two_links(model: type[Any], fields: dict[str, Any], commands: float, picture: str) -> str:
    """Windows, queues or shares of two bottlenecks."""
    one, three = fields["bdp_1"], fields["bdp_3"]
    bdp = (
        f'"bandwidth-delay product of both": {one!r}'
        if one == three
        else f'"BDP of L1": {one!r}, "BDP of L3": {three!r}'
    )
    columns = {
        "windows": f'"L1": motion.W_1, "L3": motion.W_3, {bdp}',
        "queues": '"L1": motion.Q_1, "L3": motion.Q_3',
        "shares": '"group 1, both links": np.minimum(motion.f_1, motion.f_3), '
        '"group 2, L1": motion.f_1, "group 3, L3": motion.f_3',
    }
    return (
        "import numpy as np\n"
        "import pandas as pd\n"
        f"from tcpdynamics.models import {model.__name__}\n"
        "from tcpdynamics.solvers import trajectory\n\n"
        f"model = {_call(model, fields)}\n"
        f"motion = trajectory(model.map(), range({int(commands) + 1}))\n"
        f'table = pd.DataFrame({{"command [interval]": motion.time, {columns[picture]}}})\n'
        "print(table)\n"
    )


def used(models: dict[str, type[Any]], fields: dict[str, Any]) -> str:
    """Utilisation at rest in both readings, both buffers at the same share of their bandwidth-delay product."""
    kept = ", ".join(f"{k}={v!r}" for k, v in fields.items() if not k.startswith("buffer"))
    return (
        "import numpy as np\n"
        "import pandas as pd\n"
        f"from tcpdynamics.models import {', '.join(m.__name__ for m in models.values())}\n\n"
        "share = np.linspace(0, 1, 101)\n"
        'table = pd.DataFrame({"buffer over bandwidth-delay product": share})\n'
        f"for reading, Model in {{{', '.join(f'{k!r}: {m.__name__}' for k, m in models.items())}}}.items():\n"
        f"    rests = [Model({kept}, buffer_1=s * {fields['bdp_1']!r}, buffer_3=s * "
        f"{fields['bdp_3']!r}).equilibrium() for s in share.tolist()]\n"
        "    for link in (1, 3):\n"
        '        table[f"L{link}, {reading}"] = [float(rest[f"utilisation_{link}"]) for rest in rests]\n'
        "print(table)\n"
    )


def two_facts(model: type[Any], fields: dict[str, Any]) -> str:
    """Both links at rest."""
    return (
        "import pandas as pd\n"
        f"from tcpdynamics.models import {model.__name__}\n\n"
        f"rest = {_call(model, fields)}.equilibrium()\n"
        'rows = {"utilisation": "utilisation", "window": "W", "command": "Upsilon", "queue": "Q", "feedback": "f"}\n'
        'table = pd.DataFrame([(name, float(rest[f"{k}_1"]), float(rest[f"{k}_3"])) for name, k '
        'in rows.items()], columns=["quantity", "L1", "L3"])\n'
        "print(table)\n"
    )
