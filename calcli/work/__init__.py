"""A function for each command: paths or arrays and settings in, a result that can be shown out."""
