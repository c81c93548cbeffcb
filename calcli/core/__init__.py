"""The mathematics of calcli: pure numpy, usable from a notebook as it is."""
