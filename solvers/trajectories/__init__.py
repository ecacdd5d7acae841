"""Motion in time: Taylor series with delays and switches, and the iteration of maps."""
