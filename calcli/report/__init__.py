"""Results to tables, JSON and Markdown."""
