"""What calcli keeps: calibrators, states, policies and the settings in them."""
