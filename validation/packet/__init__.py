"""A packet simulator of one bottleneck: SACK and NewReno flows, drop-tail or independent loss.

Describe a `Scenario` (or load one of `ready_scenarios()`), then `simulate` it once or `replicate` it over
seeds.
"""

from .engine import ConservationError as ConservationError
from .run import replicate as replicate
from .run import simulate as simulate
from .scenario import Bottleneck as Bottleneck
from .scenario import Drop as Drop
from .scenario import Flows as Flows
from .scenario import Scenario as Scenario
from .scenario import load_scenario as load_scenario
from .scenario import parse_scenario as parse_scenario
from .scenario import ready_scenarios as ready_scenarios
from .units import ScenarioError as ScenarioError
