"""A function for each command: paths or arrays and settings in, a result out that knows how to be shown."""
