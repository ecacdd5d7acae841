"""Markov chains: stationary laws, sensitivities, first passage, transients, sums over windows."""
