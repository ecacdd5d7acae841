"""Parameters of all mechanisms: what is no number of their unit is refused in a sentence."""

from __future__ import annotations

from types import ModuleType

import pytest

from tcpdynamics.errors import ScenarioError
from tcpdynamics.quantities import TABLES
from tcpdynamics.validation.packet.kernel.loss_models import MODELS
from tcpdynamics.validation.packet.kernel.paced import PACED
from tcpdynamics.validation.packet.kernel.parameters import Parameter, parameters_of, read_parameters
from tcpdynamics.validation.packet.kernel.queues import DISCIPLINES
from tcpdynamics.validation.packet.kernel.routers import ROUTERS
from tcpdynamics.validation.packet.kernel.windows import RULES

FILES = {**DISCIPLINES, **ROUTERS, **MODELS, **RULES}
FILES |= {f"{sender} as {rules}": file for sender, books in PACED.items() for rules, file in books.items()}
ALL = [pytest.param(file, p, id=f"{name}-{p.name}") for name, file in FILES.items() for p in parameters_of(file)]


@pytest.mark.parametrize(("file", "parameter"), ALL)
def test_each_parameter_is_refused_by_name(file: ModuleType, parameter: Parameter) -> None:
    units = [f"5 {unit}" for table in TABLES.values() for unit in table if unit not in TABLES.get(parameter.unit, ())]
    for value in ("5 packets", "five", None, True, parameter.low - 1, 2 * parameter.high + 1, float("nan"), *units):
        if value is True and parameter.whole:  # a whole number is a switch
            continue
        with pytest.raises(ScenarioError, match=rf"^links\.{parameter.name} must be ") as refusal:
            read_parameters(file, {parameter.name: value}, "links", "it")
        assert "\n" not in str(refusal.value)
