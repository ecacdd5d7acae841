"""Tamura, Takayasu, Takayasu, *TCP Optimization for Eliminating Duplicate Segments in Congested Networks* (2004)."""
