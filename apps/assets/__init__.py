"""Assets."""
