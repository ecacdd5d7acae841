"""Problems: what a model hands to a solver.

A problem is a small immutable record. It knows nothing of how it will be solved, and a solver
knows nothing of the protocol behind it; models import this package and nothing else of `solvers`.
"""

from tcpdynamics.errors import ChainError as ChainError
from tcpdynamics.errors import DomainError as DomainError
from tcpdynamics.errors import DynamicsError as DynamicsError

from .chain import BalanceModel as BalanceModel
from .chain import ChainModel as ChainModel
from .chain import Edge as Edge
from .chain import MarkovChain as MarkovChain
from .chain import Reward as Reward
from .chain import RewardBalance as RewardBalance
from .motion import DDE as DDE
from .motion import ODE as ODE
from .motion import TIME as TIME
from .motion import DdeModel as DdeModel
from .motion import Delayed as Delayed
from .motion import Dynamics as Dynamics
from .motion import Map as Map
from .motion import MapModel as MapModel
from .motion import MotionModel as MotionModel
from .motion import OdeModel as OdeModel
from .numbers import Expression as Expression
from .numbers import Numbers as Numbers
from .numbers import Parameter as Parameter
from .numbers import StateValue as StateValue
from .tables import tabulated as tabulated
