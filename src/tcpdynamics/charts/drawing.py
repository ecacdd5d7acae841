"""Plotly, which the extra `charts` brings: where it is missing, the error names the extra."""

from __future__ import annotations

from tcpdynamics.shortages import lacking

try:
    import plotly.graph_objects as go
    from plotly.subplots import make_subplots
except ModuleNotFoundError as error:
    raise lacking(error) from None

__all__ = ["go", "make_subplots"]
