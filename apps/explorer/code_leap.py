"""The lines of Python that give the numbers of each picture of LEAP's page."""

from __future__ import annotations

from .page import Values

_HEAD = (
    "import numpy as np\n"
    "import pandas as pd\n"
    "from tcpdynamics.models import LeapTimeout, LeapTransfer, OverloadedStar\n\n"
)
_LOSSES = "losses = np.linspace(0.001, 0.5, 101)\n"


def _transfer(values: Values, name: str) -> str:
    return (
        _HEAD
        + _LOSSES
        + f"model = LeapTransfer(data_loss={values['data_loss']!r}, ack_loss=losses)\n"
        + 'table = pd.DataFrame({"loss of acknowledgements": losses, '
        + f'"without LEAP": 100 * model.{name}_plain(), "with LEAP": 100 * model.{name}_leap()}})\n'
        + "print(table)\n"
    )


def duplicates(values: Values) -> str:
    """Useless receptions against the loss of acknowledgements."""
    return _transfer(values, "duplicates")


def transmissions(values: Values) -> str:
    """Transmissions against the loss of acknowledgements."""
    return _transfer(values, "transmissions")


def causes(values: Values) -> str:
    """What timeouts and LEAP's suspicions come from."""
    return (
        _HEAD
        + _LOSSES
        + "columns = {}\n"
        + 'for delayed, acks in ((False, "each acknowledged"), (True, "every second")):\n'
        + f"    model = LeapTimeout({values['data_loss']!r}, losses, {int(values['window'])}, delayed_acks=delayed)\n"
        + '    columns |= {f"timeout, {acks}": model.ack_share(), f"nothing back, {acks}": model.suspicion_right()}\n'
        + 'table = pd.DataFrame({"loss of acknowledgements": losses} | columns)\n'
        + "print(table)\n"
    )


def finished(values: Values) -> str:
    """The share of transfers that finish against their density."""
    return (
        _HEAD
        + "densities = np.linspace(0.5, 6, 101)\n"
        + f"now = LeapTransfer(data_loss={values['data_loss']!r}, ack_loss={values['ack_loss']!r})\n"
        + 'repeats = {"no duplicates": 0.0, "without LEAP": now.duplicates_plain(), '
        + '"with LEAP": now.duplicates_leap()}\n'
        + 'table = pd.DataFrame({"transfers that begin [1/s]": densities} | {name: OverloadedStar(density=densities, '
        + "duplicates=d).finished().values.ravel() for name, d in repeats.items()})\n"
        + "print(table)\n"
    )


def facts(values: Values) -> str:
    """The numbers at these losses."""
    return (
        _HEAD
        + f"now = LeapTransfer(data_loss={values['data_loss']!r}, ack_loss={values['ack_loss']!r})\n"
        + "repeats = (now.duplicates_plain(), now.duplicates_leap())\n"
        + f"stars = [OverloadedStar(density={values['density']!r}, duplicates=d) for d in repeats]\n"
        + "rows = {\n"
        + '    "duplicates": [100 * d for d in repeats],\n'
        + '    "transmissions": [100 * now.transmissions_plain(), 100 * now.transmissions_leap()],\n'
        + '    "right leaps": [np.nan, now.leaps_right()],\n'
        + '    "critical density": [star.critical_density() for star in stars],\n'
        + '    "finished": [star.finished() for star in stars],\n'
        + "}\n"
        + 'table = pd.DataFrame([(name, *row) for name, row in rows.items()], columns=["quantity", "without LEAP", '
        + '"with LEAP"])\nprint(table)\n'
    )


def command(values: Values) -> str:
    """The command that prints them."""
    return f"tcpdynamics evaluate leap-transfer --data-loss {values['data_loss']!r} --ack-loss 0.001:0.5:101"
