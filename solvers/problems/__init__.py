"""Problems: what a model hands to a solver.

A problem is a small immutable record. It knows nothing of how it will be solved, and a solver
knows nothing of the protocol behind it; models import this package and nothing else of `solvers`.
"""

from .chain import ChainError as ChainError
from .chain import DomainError as DomainError
from .chain import Edge as Edge
from .chain import MarkovChain as MarkovChain
from .chain import Reward as Reward
from .chain import RewardBalance as RewardBalance
from .dynamics import DDE as DDE
from .dynamics import ODE as ODE
from .dynamics import TIME as TIME
from .dynamics import Delayed as Delayed
from .dynamics import Dynamics as Dynamics
from .dynamics import DynamicsError as DynamicsError
from .dynamics import Map as Map
from .tables import tabulated as tabulated
