"""Straight-line programs: formulas once, in arithmetic of any kind."""
