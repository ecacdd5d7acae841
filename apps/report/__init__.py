"""The report: one self-contained HTML page."""
