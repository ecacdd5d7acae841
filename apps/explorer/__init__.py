"""The interactive explorer: pages that compute models where they are looked at."""
