"""Equations with switches (Min, Max, Piecewise, ...): pieces, surfaces, sides, and the stability of rest on them."""
