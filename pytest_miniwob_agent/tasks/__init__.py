"""The installed tasks, their categories and suites, the facts about them, and selection."""
