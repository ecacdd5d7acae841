"""A packet simulator: any network of links, TCP senders as in ns-2 or as in the RFCs, rules of one's own.

Describe a `Scenario` (or load one of `ready_scenarios()`), then `simulate` it once, `replicate` it over seeds, or
`sweep_scenarios` over a grid of its keys.
"""

from tcpdynamics.errors import ConservationError as ConservationError
from tcpdynamics.errors import ScenarioError as ScenarioError

from .run import replicate as replicate
from .run import simulate as simulate
from .scenario.course import read_trace as read_trace
from .scenario.drops_and_records import Drop as Drop
from .scenario.drops_and_records import Record as Record
from .scenario.flows import Flows as Flows
from .scenario.link import Bottleneck as Bottleneck
from .scenario.link import Link as Link
from .scenario.program import Program as Program
from .scenario.scenario import Scenario as Scenario
from .scenario.toml import load_scenario as load_scenario
from .scenario.toml import parse_scenario as parse_scenario
from .scenario.toml import ready_scenarios as ready_scenarios
from .sweeps import sweep_scenarios as sweep_scenarios
