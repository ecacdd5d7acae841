"""Taleb et al.: T-REFWA, explicit fair windows."""
