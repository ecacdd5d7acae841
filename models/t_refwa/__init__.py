"""T-REFWA's explicit fair windows (Taleb and others), in every reading of its recursion."""
