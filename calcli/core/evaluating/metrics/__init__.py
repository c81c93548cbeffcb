"""The metrics: each is declared by its class, which measures, estimates and compares it."""
