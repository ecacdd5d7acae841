"""Comparisons of models with simulations, each named by what it compares."""

from .logistic import LogisticVsFluid as LogisticVsFluid
from .sub_packet import SubPacketChainVsPackets as SubPacketChainVsPackets
