"""One flow under logistic control (Iguchi, Hasegawa, Murata)."""
