"""Comparisons of models with simulations, each named by what it compares."""

from .fluid_tcp import MisraVsLinearisation as MisraVsLinearisation
from .logistic import LogisticVsFluid as LogisticVsFluid
from .lotka_volterra import LotkaVolterraVsFluid as LotkaVolterraVsFluid
from .sub_packet import SubPacketChainVsPackets as SubPacketChainVsPackets
from .t_refwa import TRefwaMapVsFluid as TRefwaMapVsFluid
