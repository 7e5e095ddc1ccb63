"""A run: its start, what it knows, and its end.

- `state`: what a process knows of its run, with the cases that it offers, runs and leaves out.
- `forecast`: the line before a recording.
- `controller`: starts a process of the run; collects the outcomes, then writes, judges and shows
  them, step by step.
- `results`: the baseline of items, the results file, the shard, and the gate.
"""
