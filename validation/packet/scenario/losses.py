"""What `loss` and `ack_loss` say: a probability, or a table with a model and its parameters."""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import ModuleType
from typing import Any

from tcpdynamics.errors import ScenarioError, check

from ..kernel.loss_models import MODELS
from ..kernel.parameters import read_parameters
from .fields import one_of

#: Greatest share of packets that may be lost.
MOST = 0.999


def read_loss(loss: Any, key: str, at: str = "") -> tuple[ModuleType | None, dict[str, float]]:
    """The model's file and its parameters with the defaults filled in; None and `{"loss": probability}` without one.

    Raises
    ------
    ScenarioError
        Naming what is missing, not known or out of bounds.

    Examples
    --------
    >>> read_loss({"model": "gilbert-elliott", "p": "1%", "r": 0.2}, "links.loss")[1]["bad"]
    1.0
    """
    if not isinstance(loss, Mapping):
        check(key + at, loss, 0.0, MOST, "a probability; divide per cent by 100")
        return None, {"loss": float(loss)}
    if "model" not in loss:
        raise ScenarioError(f'{key}.model{at} is missing; give one, such as model = "gilbert-elliott"')
    name = loss["model"]
    one_of(f"{key}.model{at}", name, tuple(MODELS))
    file = MODELS[str(name)]
    values = read_parameters(file, {n: v for n, v in loss.items() if n != "model"}, key, f'loss model "{name}"{at}')
    for parameter, value in values.items():
        if math.isnan(value):
            raise ScenarioError(f'{key}.{parameter}{at} is missing; loss model "{name}" cannot do without')
    mean = file.mean_loss(values)
    if mean > MOST:
        raise ScenarioError(f"{key}{at} loses {mean:g} of all packets in the long run, at most {MOST:g} may be")
    return file, values


def in_words(loss: Any) -> str:
    """A loss for a line about a link.

    >>> in_words(0.01), in_words({"model": "gilbert-elliott", "p": 0.01, "r": 0.3})
    ('independent, 0.01', 'gilbert-elliott, p 0.01, r 0.3, good 0, bad 1')
    """
    file, values = read_loss(loss, "loss")
    if file is None:
        return f"independent, {values['loss']:g}"
    numbers = ", ".join(f"{name} {value:g}" for name, value in values.items())
    return f"{loss['model']}, {numbers}"
