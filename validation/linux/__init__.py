"""Linux as judge: a `Scenario` run by the TCP that people run, in a user-mode kernel with virtual time.

The kernel is an ordinary process without privileges, which `python -m tcpdynamics.validation.linux build` makes of
Debian's source package; nothing else here needs it.
"""

from tcpdynamics.errors import LinuxError as LinuxError

from .kernel import installed as installed
from .plan import LinuxPlan as LinuxPlan
from .plan import plan as plan
from .run import run_linux as run_linux
from .run import run_linux_many as run_linux_many
from .switches import CONTROLS as CONTROLS
from .switches import OLD as OLD
from .switches import TODAY as TODAY
from .switches import LinuxSwitches as LinuxSwitches
