"""Benchmarks: ours beside the best peer, in one run. Numbers are ratios; no test depends on them."""

import os

# Before NumPy is loaded: threads of BLAS that wait in a loop count as CPU time, which is not the peer's work.
for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_variable] = "1"
