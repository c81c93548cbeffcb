"""Files and folders: where they are, how they appear whole, what damages them."""
