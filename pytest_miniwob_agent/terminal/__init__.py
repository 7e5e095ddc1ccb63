"""Printed output: summary, transcript, tables, GitHub."""
