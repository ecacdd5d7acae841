"""A packet simulator: any network of links, TCP senders as in ns-2 or as in the RFCs, rules of one's own.

Describe a `Scenario` (or load one of `ready_scenarios()`), then `simulate` it once or `replicate` it over
seeds.
"""

from tcpdynamics.errors import ConservationError as ConservationError
from tcpdynamics.errors import ScenarioError as ScenarioError

from .run import replicate as replicate
from .run import simulate as simulate
from .scenario.parts import Bottleneck as Bottleneck
from .scenario.parts import Drop as Drop
from .scenario.parts import Flows as Flows
from .scenario.parts import Link as Link
from .scenario.parts import Record as Record
from .scenario.scenario import Scenario as Scenario
from .scenario.toml import load_scenario as load_scenario
from .scenario.toml import parse_scenario as parse_scenario
from .scenario.toml import ready_scenarios as ready_scenarios
