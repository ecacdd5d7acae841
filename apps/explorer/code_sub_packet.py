"""The lines of Python that give the numbers of each picture of the sub-packet page."""

from __future__ import annotations

from typing import Any

from tcpdynamics.models import SharedLink, SubPacketApproximate, SubPacketExact, SubPacketFull
from tcpdynamics.models.parameters import describe
from tcpdynamics.solvers import self_consistent

from . import sub_packet_sender as own
from .page import Values

#: Fields that shape each chain; the others are inputs of its function.
SHAPES = {"full": ("w_max", "stages"), "approximate": ("w_max",), "exact": ("w_max", "backoff_cap", "collapse")}
CHAINS: dict[str, type[Any]] = {"full": SubPacketFull, "approximate": SubPacketApproximate, "exact": SubPacketExact}
#: The order of the columns.
COLUMNS = ("approximate", "full", "exact")
#: Where the loss comes from.
SLIDER, LINK = "slider", "users-on-a-link"
#: Between neighbouring loss rates of the curves; how many there are with the slider, and with users on a link.
STEP, SHORT, LONG = 0.005, 99, 139


def losses(values: Values) -> str:
    """The loss rates of the curves, as Python."""
    return f"{STEP} + {STEP} * np.arange({SHORT if values['source'] == SLIDER else LONG})"


def loss_limit(kind: str) -> float:
    """Loss below which a chain has a stationary law [1]."""
    return float(next(row["high"] for row in describe(CHAINS[kind]) if row["name"] == "loss"))


def chain_model(kind: str, values: Values, loss: Any, base_timeout: Any) -> Any:
    shape = {k: int(values[k]) for k in SHAPES[kind]}
    return CHAINS[kind](loss=loss, base_timeout=base_timeout, **shape)


def link_of(values: Values) -> SharedLink:
    """The link that the users share."""
    shape: dict[str, Any] = {k: int(values[k]) for k in SHAPES["exact"]}
    return SharedLink(
        flows=values["users"], capacity=1e6 * values["rate"], base_rtt=values["base_rtt"], buffer=values["buffer"],
        packet_size=values["packet_size"], base_timeout=values["base_timeout"],
        **shape,
    )  # fmt: skip


def loss_of(values: Values) -> float:
    """The loss rate that the page shows [1]: of the slider, or of users on a link."""
    if values["source"] == SLIDER:
        return float(values["loss"])
    return float(self_consistent(link_of(values).balance()).root)


def _model(kind: str, values: Values, loss: str) -> str:
    shape = ", ".join(f"{k}={int(values[k])}" for k in SHAPES[kind])
    return f"{CHAINS[kind].__name__}(loss={loss}, base_timeout={values['base_timeout']!r}, {shape})"


def _head(values: Values, chains: dict[str, str], before: tuple[str, ...] = (), point: bool = True) -> str:
    """Imports, the loss, and the chains by their names, each at a loss."""
    names, solvers, lines = sorted(CHAINS[kind].__name__ for kind in chains), ["stationary"], list(before)
    if values["source"] == LINK:
        names.append("SharedLink")
        fields = ", ".join(f"{k}={v!r}" for k, v in link_of(values).provenance().items())
        lines.append(f"link = SharedLink({fields})")
        solvers = ["self_consistent", *solvers] if point else solvers
    if point and values["source"] == LINK:
        lines.append("loss = float(self_consistent(link.balance()).root)")
    elif point:
        lines.append(f"loss = {values['loss']!r}")
    models = [f'    "{kind}": {_model(kind, values, loss)},' for kind, loss in chains.items()]
    return "\n".join([
        "import numpy as np", "import pandas as pd", f"from tcpdynamics.models import {', '.join(names)}",
        f"from tcpdynamics.solvers import {', '.join(solvers)}", "", *lines, "models = {", *models, "}", "",
    ])  # fmt: skip


def _sender(values: Values, loss: str) -> str:
    """Lines that add the chosen sender to the models; nothing where none is shown."""
    if not own.has_law(values):
        return ""
    chosen = ", ".join(f"{k}={v!r}" for k, v in own.fields(values).items())
    return (
        f'from tcpdynamics.validation.sender_chain import Sender\n\nmodels["sender"] = Sender(loss={loss}, {chosen})\n'
    )


def without_law(values: Values, kind: str) -> str:
    """Why a chain has no law here, in a sentence; nothing where it has one."""
    loss = loss_of(values)
    if loss == 0:
        return "the users do not fill the link: nothing is lost, and the chains begin above a loss of 0"
    if not loss < 1:
        return "no loss below 1 brings the users' goodput down to their share"
    if loss >= loss_limit(kind):
        limit = f"{loss_limit(kind):g}"
        return f"the {kind} chain has no stationary law at losses of {limit} and above; choose the exact one"
    return ""


def _empty(values: Values, why: str) -> str:
    """Of a picture without numbers: the loss, and why."""
    head = _head(values, {"exact": "loss"}).partition("models = {")[0].replace("import numpy as np\n", "")
    head = head.replace("SubPacketExact, ", "").replace(", stationary\n", "\n")
    return f"{head}table = pd.DataFrame()  # {why}\nprint(loss, table)\n"


def packets(values: Values) -> str:
    """The bars of the chains that have a stationary law at this loss; packets are measured by the button."""
    here = loss_of(values)
    if why := without_law(values, "exact"):
        return _empty(values, why)
    has = {kind: kind == "exact" or here < loss_limit(kind) for kind in COLUMNS}
    return (
        _head(values, {kind: "loss" for kind in COLUMNS if has[kind]})
        + _sender(values, "loss")
        + (
            f'table = pd.DataFrame({{"packets sent in a round trip": range({int(values["w_max"]) + 1})}})\n'
            "for name, model in models.items():\n"
            "    table[name] = pd.Series(model.observe(stationary(model.chain())).sent.values)\n"
            "print(table)\n"
        )
    )


def _curves(values: Values, quantity: str, more: str = "") -> str:
    """A quantity against loss; of chains that end at a loss, up to there."""
    limit = loss_limit("full")
    before = (f"losses = {losses(values)}", f"below = losses[losses < {limit!r}]")
    chains = {kind: "losses" if kind == "exact" else "below" for kind in COLUMNS}
    return (
        _head(values, chains, before, point=False)
        + _sender(values, "losses")
        + (
            'table = pd.DataFrame({"loss rate": losses})\n'
            "for name, model in models.items():\n"
            f"    table[name] = pd.Series(model.observe(stationary(model.chain())).{quantity}.values)\n"
            f"{more}"
            "print(table)\n"
        )
    )


def goodput(values: Values) -> str:
    """Packets delivered per round trip."""
    share = 'table["share of each user"] = float(link.share())\n' if values["source"] == LINK else ""
    return _curves(values, "goodput", share)


def silence(values: Values) -> str:
    """The share of epochs without a packet."""
    return _curves(values, "sent.sel(packets=0)")


def diagram(values: Values) -> str:
    """The share of time in each state, and how often each transition is taken."""
    kind = values["chain"]
    if why := without_law(values, kind):
        return _empty(values, why)
    shape = ", ".join(f"{k}={int(values[k])}" for k in SHAPES[kind])
    solvers = "from tcpdynamics.solvers import"
    head = _head(values, {kind: "loss"}).partition("models = {")[0].replace("import numpy as np\n", "")
    head = head.replace(f"{solvers} stationary\n", "").replace(", stationary\n", "\n")
    more = (
        "from tcpdynamics.solvers.markov.flows import flow_program\n"
        "from tcpdynamics.solvers.programs.straightline import run\n\n"
    )
    return head.replace("\n\n", "\n" + more, 1) + (
        "# swept, so that loss and timeout are symbols, p and m_0\n"
        f"flows = flow_program({CHAINS[kind].__name__}(loss=[0.1, 0.2], base_timeout=[2.0, 3.0], {shape}).chain())\n"
        f"numbers = run(flows.program, {{'p': loss, 'm_0': {values['base_timeout']!r}}})\n"
        'names = [*flows.states, *(f"{flows.states[a]} to {flows.states[b]}" for a, b in flows.edges)]\n'
        'table = pd.DataFrame({"state or transition": names, "share of time or transitions per round trip": numbers})\n'
        "print(table)\n"
    )


def lengths(values: Values) -> str:
    """How long silences are in the exact chain, and their share of the silent time."""
    if why := without_law(values, "exact"):
        return _empty(values, why)
    return _head(values, {"exact": "loss"}) + (
        'law = models["exact"].silence_lengths()\n'
        "table = pd.DataFrame({\n"
        '    "length of a silence [RTT]": law.length, "of silences": law.probability, "of the '
        'silent time": law.time_share,\n'
        "})\n"
        "print(table)\n"
    )


def command(values: Values) -> str:
    """The command that gives the bars and the states of the chosen chain."""
    kind = values["chain"]
    if why := without_law(values, kind):
        return f"no command: {why}"
    options = " ".join(f"--{k.replace('_', '-')} {int(values[k])}" for k in SHAPES[kind])
    point = f"--loss {loss_of(values)!r} --base-timeout {values['base_timeout']!r}"
    return f"tcpdynamics stationary sub-packet-{kind} {point} {options}"


def sweep_command(values: Values) -> str:
    """The command that gives the chosen chain along the curves."""
    kind = values["chain"]
    count = LONG if kind == "exact" and values["source"] == LINK else SHORT
    options = " ".join(f"--{k.replace('_', '-')} {int(values[k])}" for k in SHAPES[kind])
    point = f"--loss {STEP}:{count * STEP:g}:{count} --base-timeout {values['base_timeout']!r}"
    return f"tcpdynamics stationary sub-packet-{kind} {point} {options}"
