"""A chain compiled from the sender itself: the simulator's own states under independent loss, and their laws."""

from .chain import SenderChain as SenderChain
from .chain import sender_chain as sender_chain
from .explore import SenderChainError as SenderChainError
from .setting import Setting as Setting
