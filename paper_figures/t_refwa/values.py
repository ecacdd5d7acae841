"""Numbers that claims name: made of an experiment's result, or predicted by a model."""
