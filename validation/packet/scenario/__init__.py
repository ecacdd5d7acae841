"""Scenarios: what to simulate, as frozen records checked when made, and as TOML."""
