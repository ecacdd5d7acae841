"""Comparisons of models with simulations, each named by what it compares. Each loads when it is first used."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tcpdynamics import former_names

if TYPE_CHECKING:
    import xarray as xr

    from .bbr_cubic import BbrVsCubic as BbrVsCubic
    from .comparison import Comparison
    from .fluid_tcp import MisraVsLinearisation as MisraVsLinearisation
    from .ladder import SenderChainSteps as SenderChainSteps
    from .leap import LeapVsPackets as LeapVsPackets
    from .linux_controls import LinuxControls as LinuxControls
    from .linux_sends import LinuxSends as LinuxSends
    from .linux_stacks import LinuxStacks as LinuxStacks
    from .linux_sub_packet import LinuxSubPacket as LinuxSubPacket
    from .lock_out import LockOut as LockOut
    from .logistic import LogisticVsFluid as LogisticVsFluid
    from .lotka_volterra import LotkaVolterraVsFluid as LotkaVolterraVsFluid
    from .lotka_volterra_packets import LotkaVolterraVsPackets as LotkaVolterraVsPackets
    from .mtcp import MtcpVsPackets as MtcpVsPackets
    from .packets_vs_linux import PacketsVsLinux as PacketsVsLinux
    from .packets_vs_ns2 import PacketsVsNs2 as PacketsVsNs2
    from .prediction import PredictionVsPackets as PredictionVsPackets
    from .retransmission_priority import RetransmissionPriorityVsPackets as RetransmissionPriorityVsPackets
    from .sender_chain import SenderChainVsPackets as SenderChainVsPackets
    from .sub_packet import SubPacketChainVsPackets as SubPacketChainVsPackets
    from .t_refwa import TRefwaMapVsFluid as TRefwaMapVsFluid
    from .t_refwa_packets import TRefwaVsPackets as TRefwaVsPackets
    from .window_rules import WindowRulesVsFormulas as WindowRulesVsFormulas

_HOME_OF = {
    "BbrVsCubic": "bbr_cubic", "LeapVsPackets": "leap", "LinuxControls": "linux_controls", "LinuxSends": "linux_sends",
    "LinuxStacks": "linux_stacks", "LinuxSubPacket": "linux_sub_packet", "LockOut": "lock_out",
    "LogisticVsFluid": "logistic", "LotkaVolterraVsFluid": "lotka_volterra",
    "LotkaVolterraVsPackets": "lotka_volterra_packets", "MisraVsLinearisation": "fluid_tcp", "MtcpVsPackets": "mtcp",
    "PacketsVsLinux": "packets_vs_linux", "PacketsVsNs2": "packets_vs_ns2", "PredictionVsPackets": "prediction",
    "RetransmissionPriorityVsPackets": "retransmission_priority", "SenderChainSteps": "ladder",
    "SenderChainVsPackets": "sender_chain", "SubPacketChainVsPackets": "sub_packet", "TRefwaMapVsFluid": "t_refwa",
    "TRefwaVsPackets": "t_refwa_packets", "WindowRulesVsFormulas": "window_rules",
}  # fmt: skip
__all__ = sorted(_HOME_OF)
_FORMER = {"SenderChainLadder": "SenderChainSteps", "WindowRulesVsLaws": "WindowRulesVsFormulas"}


def __getattr__(name: str) -> Any:
    if name in _FORMER:
        former_names.warn(name, _FORMER[name])
        name = _FORMER[name]
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_HOME_OF[name]}", __name__), name)


def commands() -> dict[str, Command]:
    """What `tcpdynamics validate` has of each file that names a `command`: read as text, for no command needs all."""
    listed = {}
    for path in sorted(Path(__file__).parent.glob("*.py")):
        text = path.read_text(encoding="utf-8")
        if named := re.search(r'^    command: ClassVar\[str\] = "([a-z0-9-]+)"$', text, re.M):
            kind = re.findall(r"^class (\w+)\((\w+)\)", text[: named.start()], re.M)[-1]
            about = re.match(r'"""(.*?)(?:"""|\n)', text)
            assert about is not None
            listed[named[1]] = Command(path.stem, kind[0], about[1], kind[1] == "Study")
    return listed


class Command(NamedTuple):
    """A comparison as a command: its module, class and first line, and whether it has recorded runs of Linux."""

    module: str
    kind: str
    about: str
    recorded: bool

    def load(self) -> type[Comparison]:
        """The class."""
        kind: type[Comparison] = getattr(import_module(f".{self.module}", __name__), self.kind)
        return kind


def kind_of(result: xr.Dataset) -> type[Comparison]:
    """The comparison that made a result.

    Raises
    ------
    ValueError
        No comparison has the name that the result bears.
    """
    from .comparison import KINDS

    name = str(result.attrs.get("comparison"))
    for kind in __all__:
        __getattr__(kind)
    if name not in KINDS:
        raise ValueError(f"result is of the comparison {name!r}, which is unknown; known: {', '.join(sorted(KINDS))}")
    return KINDS[name]


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
