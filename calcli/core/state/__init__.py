"""What one pass over the rows collects."""
