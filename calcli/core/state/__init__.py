"""What one pass brings home."""
