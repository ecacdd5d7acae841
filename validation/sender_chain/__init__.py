"""A chain compiled from the sender itself: the simulator's own states under independent loss, and their laws.

Each name loads when first used: the simulator takes a second.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .chain import SenderChain as SenderChain
    from .chain import sender_chain as sender_chain
    from .explore import SenderChainError as SenderChainError
    from .model import Sender as Sender
    from .setting import Setting as Setting

_HOME_OF = {
    "SenderChain": ".chain",
    "sender_chain": ".chain",
    "SenderChainError": ".explore",
    "Sender": ".model",
    "Setting": ".setting",
}

__all__ = ["Sender", "SenderChain", "SenderChainError", "Setting", "sender_chain"]


def __getattr__(name: str) -> Any:
    if name in _HOME_OF:
        return getattr(importlib.import_module(_HOME_OF[name], __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
