"""Pictures: PNGs without metadata, marks on them, their differences, and those in requests."""
