# For checkers of types: a name that is not here does not exist, whatever `__getattr__` of the module takes.
from . import apps as apps
from . import charts as charts
from . import models as models
from . import paper_figures as paper_figures
from . import solvers as solvers
from . import validation as validation
from .charts import plot as plot

__version__: str
__all__ = ["__version__", "apps", "charts", "models", "paper_figures", "plot", "solvers", "validation"]
