"""The shell: parses, calls, shows."""
