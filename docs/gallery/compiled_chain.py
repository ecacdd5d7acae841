"""What is a chain that is compiled from the sender's own code?"""

import tcpdynamics
from tcpdynamics import solvers
from tcpdynamics.validation.sender_chain import sender_chain

made = sender_chain("tahoe", 2, rules="rfc", backoff_cap=1, loss=[0.05, 0.1, 0.2, 0.3, 0.4])
chain = made.chain()
waits = [state for state in chain.labels if state.startswith("b")]
print(f"{len(chain.labels) - len(waits)} states that send and {len(waits)} that wait for a timer")
assert (len(chain.labels) - len(waits), len(waits)) == (7, 4)

figure = tcpdynamics.plot(solvers.stationary(chain))
