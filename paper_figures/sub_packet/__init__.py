"""Chen, Iyengar, Subramanian, Ford: TCP behaviour in sub-packet regimes."""
