"""Agents: the registry, prompt files, and a folder for each built-in agent.

A new built-in agent is a folder with its module and its texts, and a line in `registry.BUILT_IN`.
"""
