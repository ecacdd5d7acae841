"""Sweeps in blocks, the stores that survive a crash, and what is in them."""
