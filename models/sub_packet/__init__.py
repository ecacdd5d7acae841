"""TCP at high loss: the Markov chains of Chen, Iyengar, Subramanian and Ford."""
