"""A packet simulator: any network of links, TCP senders as in ns-2 or as in the RFCs, rules of one's own.

Describe a `Scenario` (or load one of `ready_scenarios()`), then `simulate` it once or `replicate` it over
seeds.
"""

from .engine import ConservationError as ConservationError
from .parts import Bottleneck as Bottleneck
from .parts import Drop as Drop
from .parts import Flows as Flows
from .parts import Link as Link
from .parts import Record as Record
from .reading import load_scenario as load_scenario
from .reading import parse_scenario as parse_scenario
from .reading import ready_scenarios as ready_scenarios
from .run import replicate as replicate
from .run import simulate as simulate
from .scenario import Scenario as Scenario
from .units import ScenarioError as ScenarioError
