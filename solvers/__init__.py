"""Solvers: how numbers are obtained. They know problems, never protocols."""

from .first_passage import first_passage as first_passage
from .first_passage import sojourn as sojourn
from .problems import ChainError as ChainError
from .problems import DomainError as DomainError
from .problems import MarkovChain as MarkovChain
from .problems import Reward as Reward
from .problems import RewardBalance as RewardBalance
from .results import failures as failures
from .self_consistent import self_consistent as self_consistent
from .stationary import closed_form as closed_form
from .stationary import sensitivity as sensitivity
from .stationary import stationary as stationary
from .transient import spectral_gap as spectral_gap
from .transient import transient as transient
from .windowed import windowed as windowed
