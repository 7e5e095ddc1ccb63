"""The agent that works by native tool calls: all of it is in `agent`."""
