"""Results to figures."""
