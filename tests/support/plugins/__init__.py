"""Plugins for pytest runs in processes of their own, as `-p support.plugins.NAME`."""
