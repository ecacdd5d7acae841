"""A chain compiled from the sender itself: the simulator's own states under independent loss, and their laws."""
