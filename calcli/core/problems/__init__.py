"""Lenses, and the smaller problems that predictions become through them."""
