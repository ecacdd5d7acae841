"""Solvers: how numbers are obtained. They know problems, never protocols.

A solver is loaded when it is first used, so that a model, which needs `solvers.problems` only, loads fast.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tcpdynamics.errors import ChainError as ChainError
    from tcpdynamics.errors import DomainError as DomainError
    from tcpdynamics.errors import DynamicsError as DynamicsError
    from tcpdynamics.errors import StoreError as StoreError

    from .markov.first_passage import first_passage as first_passage
    from .markov.first_passage import sojourn as sojourn
    from .markov.self_consistent import self_consistent as self_consistent
    from .markov.stationary import closed_form as closed_form
    from .markov.stationary import sensitivity as sensitivity
    from .markov.stationary import stationary as stationary
    from .markov.transient import spectral_gap as spectral_gap
    from .markov.transient import transient as transient
    from .markov.windowed import windowed as windowed
    from .problems import DDE as DDE
    from .problems import ODE as ODE
    from .problems import Delayed as Delayed
    from .problems import Map as Map
    from .problems import MarkovChain as MarkovChain
    from .problems import Reward as Reward
    from .problems import RewardBalance as RewardBalance
    from .problems import tabulated as tabulated
    from .results import failures as failures
    from .stability.basin import basin as basin
    from .stability.bifurcation import bifurcation as bifurcation
    from .stability.characteristic_roots import characteristic_roots as characteristic_roots
    from .stability.continuation import continuation as continuation
    from .stability.equilibria import equilibria as equilibria
    from .stability.lyapunov import lyapunov as lyapunov
    from .stability.spectra import convergence as convergence
    from .stability.spectra import eigenvalues as eigenvalues
    from .stability.spectra import spectral_abscissa as spectral_abscissa
    from .stability.spectra import spectral_radius as spectral_radius
    from .stability.stability_chart import boundary_curves as boundary_curves
    from .stability.stability_chart import stability_chart as stability_chart
    from .sweeps.explain import Explanation as Explanation
    from .sweeps.explain import explain as explain
    from .sweeps.sweep import sweep as sweep
    from .sweeps.sweep_of import sweep_of as sweep_of
    from .trajectories.trajectory import trajectory as trajectory

#: Which module holds which public names.
_HOMES = {
    "tcpdynamics.errors": "ChainError DomainError DynamicsError StoreError",
    ".markov.first_passage": "first_passage sojourn",
    ".markov.self_consistent": "self_consistent",
    ".markov.stationary": "closed_form sensitivity stationary",
    ".markov.transient": "spectral_gap transient",
    ".markov.windowed": "windowed",
    ".problems": "DDE ODE Delayed Map MarkovChain Reward RewardBalance tabulated",
    ".results": "failures",
    ".stability.basin": "basin",
    ".stability.bifurcation": "bifurcation",
    ".stability.characteristic_roots": "characteristic_roots",
    ".stability.continuation": "continuation",
    ".stability.equilibria": "equilibria",
    ".stability.lyapunov": "lyapunov",
    ".stability.spectra": "convergence eigenvalues spectral_abscissa spectral_radius",
    ".stability.stability_chart": "boundary_curves stability_chart",
    ".sweeps.explain": "Explanation explain",
    ".sweeps.sweep": "sweep",
    ".sweeps.sweep_of": "sweep_of",
    ".trajectories.trajectory": "trajectory",
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names.split()}
__all__ = sorted(_HOME_OF)


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_HOME_OF[name], __name__), name)
    return value


def __dir__() -> list[str]:
    return sorted(_HOME_OF)
