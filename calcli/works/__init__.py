"""What the five works ask for beyond evaluating: simulations, true errors, other objectives."""
