"""Window rules: how a congestion window grows and falls."""
