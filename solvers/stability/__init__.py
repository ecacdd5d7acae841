"""Points of rest, their roots, charts, branches, and what lies beyond: cycles and chaos."""
