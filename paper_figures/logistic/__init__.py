"""Iguchi, Hasegawa, Murata: logistic and Lotka-Volterra control with inline measurement."""
