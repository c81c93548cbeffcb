"""Files and folders: paths, atomic outputs, damaged files."""
