"""Models: what is true of a protocol. One file per idea, each reads like its paper."""

from .fairness import alpha_fair_utility as alpha_fair_utility
from .fairness import atkinson as atkinson
from .fairness import entropy as entropy
from .fairness import gini as gini
from .fairness import hill_number as hill_number
from .fairness import hoover as hoover
from .fairness import jain as jain
from .fairness import min_max_ratio as min_max_ratio
from .shared_link import SharedLink as SharedLink
from .sub_packet import SubPacketApproximate as SubPacketApproximate
from .sub_packet import SubPacketFresh as SubPacketFresh
from .sub_packet import SubPacketFull as SubPacketFull
from .sub_packet import SubPacketLevels as SubPacketLevels
from .sub_packet_exact import SubPacketExact as SubPacketExact
from .sub_packet_exact import collapse_threshold as collapse_threshold
from .throughput_laws import PftkApproximate as PftkApproximate
from .throughput_laws import PftkFull as PftkFull
from .throughput_laws import SquareRoot as SquareRoot
from .throughput_laws import Tfrc as Tfrc
