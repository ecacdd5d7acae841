"""n flows under Lotka-Volterra control (Iguchi, Hasegawa, Murata)."""
