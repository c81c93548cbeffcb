"""What users write, as data that load without numpy: errors, expressions, settings, entries."""
