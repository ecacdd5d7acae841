"""Fluid TCP: windows and a queue as delay equations (Misra, Gong, Towsley)."""
