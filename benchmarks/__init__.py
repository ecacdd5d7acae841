"""Benchmarks: ours beside the best peer, in one run. Numbers are ratios; no test depends on them."""
