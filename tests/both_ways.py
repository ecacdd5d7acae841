"""A run on ns-2's clock with departures computed on arrival, and with an event at the end of each transmission."""

import numpy as np

from tcpdynamics.validation.packet import engine, result

#: What sums waits and transmission times packet by packet, or event by event: its last digits differ.
SUMMED = ("queue", "wait", "utilisation", "epoch")


def both_ways(scenario):
    """Datasets of the keyed and of the served run; None where a tie is not decided by keys."""
    try:
        runs = [engine.finished(engine._execute(scenario, scenario.seed, keyed, None, None)) for keyed in (True, False)]
    except engine._UndecidedError:
        return None
    keyed, served = (result.dataset(scenario, scenario.seed, run) for run in runs)
    assert set(keyed.variables) == set(served.variables)
    for name, variable in keyed.variables.items():
        of_served = served[name].values
        if any(word in name for word in SUMMED) and variable.dtype.kind == "f":
            np.testing.assert_allclose(variable.values, of_served, rtol=1e-9, atol=1e-12, err_msg=name)
        else:
            assert variable.values.tobytes() == of_served.tobytes(), name
    return runs[0].sim
