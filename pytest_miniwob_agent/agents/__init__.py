"""Agents: the registry, prompt files, and a folder for each built-in agent."""
