"""How calibrators are fitted: losses, maps and optimisers."""
