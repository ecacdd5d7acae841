"""The lines of Python that give the numbers of each picture of M/TCP's page."""

from __future__ import annotations

from .page import Values

_HEAD = (
    "import numpy as np\n"
    "import pandas as pd\n"
    "from tcpdynamics.models import MtcpThroughput, OneWayTimes, effective_ack_loss\n\n"
)
_LOSSES = "losses = np.linspace(0, 0.5, 101)\n"
_SCHEMES = 'names = {"immediate": "immediate", "duplicated": "duplicated, delayed or not"}\n'


def _law(values: Values, ack_loss: str) -> str:
    words = ", ".join(f"{name}={values[name]!r}" for name in ("loss", "rtt", "timeout", "window_limit"))
    return f"model = MtcpThroughput({words}, ack_loss={ack_loss}, routes={int(values['routes'])})\n"


def _times(values: Values) -> str:
    return f"model = OneWayTimes(alpha={values['alpha']!r}, routes={int(values['routes'])})\n"


def losses(values: Values) -> str:
    """The loss of whole acknowledgements, by scheme."""
    return (
        _HEAD
        + _LOSSES
        + _SCHEMES
        + 'table = pd.DataFrame({"loss of acknowledgements": losses} | {name: [effective_ack_loss(scheme, [q] * '
        + f"{int(values['routes'])}) for q in losses] for scheme, name in names.items()}})\nprint(table)\n"
    )


def throughput(values: Values) -> str:
    """Packets sent per second, by scheme."""
    return (
        _HEAD
        + _LOSSES
        + _law(values, "losses")
        + 'table = pd.DataFrame({"loss of acknowledgements": losses, "immediate": model.immediate(), '
        + '"duplicated, delayed or not": model.duplicated(), '
        + '"Reno, one route": model.reno()})\nprint(table)\n'
    )


def _estimates(values: Values, difference: str, sign: str) -> str:
    round_trip, apart = values["true_round_trip"], values[difference]
    return (
        _HEAD
        + _times(values)
        + "k = np.arange(301)\n"
        + f"mean = {round_trip!r} / 2 * (1 - model.common_factor() ** k)\n"
        + f"half = {apart!r} / 2 * (1 - model.difference_factor() ** k)\n"
        + f"true = ({round_trip!r} {sign} {values['asymmetry']!r}) / 2\n"
        + 'table = pd.DataFrame({"acknowledgements": k, "route 1": mean + half, "route 2": mean - half, '
        + f'"true, route 1": true + {apart!r} / 2, "true, route 2": true - {apart!r} / 2}})\nprint(table)\n'
    )


def there(values: Values) -> str:
    """Times there, estimated and true."""
    return _estimates(values, "true_there", "+")


def back(values: Values) -> str:
    """Times back, estimated and true."""
    return _estimates(values, "true_back", "-")


def errors(values: Values) -> str:
    """What is left of each kind of error."""
    return (
        _HEAD
        + _times(values)
        + "k = np.arange(301)\n"
        + 'table = pd.DataFrame({"acknowledgements": k, "mean round trip": model.common_factor() ** k, '
        + '"between routes": model.difference_factor() ** k, "there against back": np.ones(301)})\nprint(table)\n'
    )


def schemes(values: Values) -> str:
    """The numbers at this loss."""
    return (
        _HEAD
        + _law(values, repr(values["ack_loss"]))
        + _SCHEMES
        + f"lost = [effective_ack_loss(name, [{values['ack_loss']!r}] * {int(values['routes'])}) for name in names]\n"
        + "sent = [model.immediate(), model.duplicated()]\n"
        + "kept = [model.immediate_factor(), model.duplicated_factor()]\n"
        + "rows = {\n"
        + '    "lost whole": lost,\n'
        + '    "throughput": sent,\n'
        + '    "over Reno": [x / model.reno() for x in sent],\n'
        + '    "share kept": kept,\n'
        + "}\n"
        + 'table = pd.DataFrame([(name, *row) for name, row in rows.items()], columns=["quantity", *names.values()])\n'
        + "print(table)\n"
    )


def facts(values: Values) -> str:
    """What the estimates know."""
    m, a = values["true_round_trip"], values["asymmetry"]
    return (
        _HEAD
        + _times(values)
        + f"there, back = ({m!r} + {a!r}) / 2, ({m!r} - {a!r}) / 2\n"
        + f"n = {int(values['routes'])}\n"
        + "rows = {\n"
        + '    "common factor": model.common_factor(),\n'
        + '    "difference factor": model.difference_factor(),\n'
        + '    "mean to 1 %": np.log(0.01) / np.log(model.common_factor()),\n'
        + '    "differences to 1 %": np.log(0.01) / np.log(model.difference_factor()),\n'
        + '    "noise gain": model.noise_gain(),\n'
        + '    "constant there": model.offset([0.0] * n, [0.0] * n, [there] * n, [back] * n),\n'
        + '    "unknown directions": 1,\n'
        + '    "known directions": 2 * n - 1,\n'
        + "}\n"
        + 'table = pd.DataFrame(list(rows.items()), columns=["quantity", "value"])\nprint(table)\n'
    )


def _words(values: Values) -> str:
    words = (f"--{name.replace('_', '-')} {values[name]!r}" for name in ("loss", "rtt", "timeout", "window_limit"))
    return f"tcpdynamics evaluate mtcp-throughput {' '.join(words)} --routes {int(values['routes'])}"


def command(values: Values) -> str:
    """The command that prints the throughputs."""
    return f"{_words(values)} --ack-loss 0:0.5:101"


def command_here(values: Values) -> str:
    """The command that prints them at this loss."""
    return f"{_words(values)} --ack-loss {values['ack_loss']!r}"


def command_times(values: Values) -> str:
    """The command that prints the factors."""
    return f"tcpdynamics evaluate one-way-times --alpha {values['alpha']!r} --routes {int(values['routes'])}"
