"""The lines of Python that give the numbers of each picture of the page of HighSpeed and Scalable TCP."""

from __future__ import annotations

from .page import Values

TIMES = 601


def _head(values: Values, loss: str) -> str:
    return (
        "import numpy as np\n"
        "import pandas as pd\n"
        "from tcpdynamics.models import AimdTcp, HighSpeedTcp, ScalableTcp\n"
        "from tcpdynamics.solvers import trajectory\n\n"
        f"loss = {loss}\n"
        'laws = {"Reno": AimdTcp(loss=loss), "HighSpeed": HighSpeedTcp(loss=loss), '
        f'"Scalable": ScalableTcp(loss=loss, a={values["a"]!r}, b={values["b"]!r})}}\n'
    )


def _losses(values: Values) -> str:
    return f"np.union1d([10 ** (-7 + i / 40) for i in range(201)], {values['loss']!r})"


def response(values: Values) -> str:
    """The window of each law against the loss rate."""
    return _head(values, _losses(values)) + (
        'table = pd.DataFrame({"loss rate": loss} | {name: law.response() for name, law in '
        "laws.items()})\nprint(table)\n"
    )


def ratio(values: Values) -> str:
    """The same over Reno's."""
    return _head(values, _losses(values)) + (
        'table = pd.DataFrame({"loss rate": loss} | {name: law.response() / '
        'laws["Reno"].response() for name, law in laws.items()})\n'
        "print(table)\n"
    )


def mean(values: Values) -> str:
    """The mean windows from one packet on."""
    return _head(values, repr(values["loss"])) + (
        f"times = np.linspace(0, {values['end']!r}, {TIMES})\n"
        'table = pd.DataFrame({"time [RTT]": times} | {name: trajectory(law.ode(), '
        "times).W.values for name, law in laws.items()})\n"
        "print(table)\n"
    )


def growth(values: Values) -> str:
    """Packets a round trip more."""
    return _by_window(values, "increase")


def share(values: Values) -> str:
    """What a loss takes away."""
    return _by_window(values, "decrease")


def _by_window(values: Values, what: str) -> str:
    return _head(values, repr(values["loss"])) + (
        "windows = np.geomspace(1, 1e5, 201)\n"
        f'table = pd.DataFrame({{"window [packet]": windows}} | {{name: law.{what}(windows) for '
        f"name, law in laws.items()}})\n"
        "print(table)\n"
    )


def teeth(values: Values) -> str:
    """The windows between losses, one every 1/p packets: packets sent are the second state, a loss ends a piece."""
    return _head(values, repr(values["loss"])).replace(
        "from tcpdynamics.solvers import trajectory\n", "from scipy.integrate import solve_ivp\n"
    ) + (
        f"times = np.linspace(0, {values['end']!r}, {TIMES})\n\n"
        "def windows(law):\n"
        "    lost = lambda t, s: s[1] - 1 / loss\n"
        "    lost.terminal = True\n"
        "    at, w, parts = 0.0, law.response(), []\n"
        "    while at < times[-1]:  # from the window after a loss to the next loss\n"
        "        low = (1 - law.decrease(w)) * w\n"
        "        piece = solve_ivp(lambda t, s: [law.increase(s[0]), s[0]], (at, np.inf), [low, "
        "0], events=lost, rtol=1e-9, atol=1e-9, dense_output=True)\n"
        "        parts.append(piece.sol(times[(times >= at) & (times < piece.t[-1])])[0])\n"
        "        at, w = piece.t[-1], piece.y[0, -1]\n"
        "    return np.concatenate(parts)[: times.size]\n\n"
        'table = pd.DataFrame({"time [RTT]": times} | {name: windows(law) for name, law in laws.items()})\n'
        "print(table)\n"
    )


def facts(values: Values) -> str:
    """The laws at this loss rate."""
    return _head(values, repr(values["loss"])) + (
        "rest = {name: law.response() for name, law in laws.items()}\n"
        "teeth = {name: law.sawtooth() for name, law in laws.items()}\n"
        "rows = {\n"
        '    "window": rest.values(), "times Reno\'s": [w / rest["Reno"] for w in rest.values()],\n'
        '    "grows by": [law.increase(rest[name]) for name, law in laws.items()],\n'
        '    "gives up": [law.decrease(rest[name]) for name, law in laws.items()],\n'
        '    "peak": [t.peak for t in teeth.values()], "mean": [t.mean for t in teeth.values()],\n'
        '    "between losses": [t.period for t in teeth.values()],\n'
        "}\n"
        'table = pd.DataFrame([(name, *map(float, row)) for name, row in rows.items()], columns=["quantity", *laws])\n'
        "print(table)\n"
    )


def command(values: Values) -> str:
    """The command that follows HighSpeed TCP's mean window."""
    return f"tcpdynamics trajectory high-speed-tcp --loss {values['loss']!r} --time 0:{values['end']!r}:{TIMES}"
