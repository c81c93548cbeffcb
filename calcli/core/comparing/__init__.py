"""Systems beside each other: paired differences, evidence, policies."""
