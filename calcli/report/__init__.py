"""Results as tables, JSON, Markdown and pages."""
