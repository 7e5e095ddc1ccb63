"""Tasks: the installed ones and pages of one's own, categories, suites, facts, and selection."""
