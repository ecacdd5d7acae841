"""The second simulator: a `Scenario` as a Tcl script for ns-2.35, run and read back.

ns-2 is a program of its own, called `ns` (Debian: `apt install ns2`); nothing else here needs it.
"""

from tcpdynamics.errors import Ns2Error as Ns2Error

from .plan import Plan as Plan
from .plan import plan as plan
from .run import installed as installed
from .run import run_ns2 as run_ns2
from .tcl import tcl as tcl
