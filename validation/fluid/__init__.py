"""Fluid simulations: flows, queues and delays as rates, without any model's simplification of the network."""

from .competing_flows import Crowd as Crowd
from .marking_link import MarkedFlows as MarkedFlows
from .router import SampledWindow as SampledWindow
