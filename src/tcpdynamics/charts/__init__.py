"""Figures: functions from labelled results to plotly figures. They never show, write or serve."""
