"""A run: its start, what it knows, and its end.

- `startup`: reads the settings and registers the plugins of a process.
- `state`: what a process knows of its run.
- `forecast`: the line before a recording.
- `controller`: collects the outcomes, then writes, judges and shows them, step by step.
- `results`: the results file and the gate.
- `baseline`: how an item changed, and failures that the baseline allows.
- `shard`: what a shard says of its suite.
- `exports`: an item's properties, transcript and picture for other reporting plugins.
"""
