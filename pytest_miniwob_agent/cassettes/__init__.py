"""Recorded model calls: the file, an item's replay and recording, drift, the folder, batches."""
