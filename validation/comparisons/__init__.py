"""Comparisons of models with simulations, each named by what it compares."""

from .sub_packet import SubPacketChainVsPackets as SubPacketChainVsPackets
