"""Comparing systems: pairing, differences, evidence, policies, monitoring."""
