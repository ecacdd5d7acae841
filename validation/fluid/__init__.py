"""Fluid simulations: flows, queues and delays as rates, without any model's simplification of the network."""

from .crowd import Crowd as Crowd
from .marked_flows import MarkedFlows as MarkedFlows
from .sampled_window import SampledWindow as SampledWindow
