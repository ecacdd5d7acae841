"""Models: what is true of a protocol. One file per idea, each reads like its paper."""

from .shared_link import SharedLink as SharedLink
from .sub_packet import SubPacketApproximate as SubPacketApproximate
from .sub_packet import SubPacketFresh as SubPacketFresh
from .sub_packet import SubPacketFull as SubPacketFull
from .sub_packet import SubPacketLevels as SubPacketLevels
from .sub_packet_exact import SubPacketExact as SubPacketExact
from .sub_packet_exact import collapse_threshold as collapse_threshold
