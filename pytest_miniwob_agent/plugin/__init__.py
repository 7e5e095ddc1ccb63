"""The pytest plugin, from the top floor down.

- `hooks`: the hooks, one call each: the table of contents.
- `fixtures`: what tests ask for, and may override.
- `inner`: pytest inside commands, such as `show`, `cassettes` and `certify`.
- `controller`: starts a process of the run, collects the outcomes, and ends the run step by step.
- `steps`: the steps: pending calls, `run_finished` of agents, results and gate, report.
- `forecast`: the line before a recording.
- `reports`: an item's outcome in pytest's report, for other plugins, and from a worker to the
  controller.
- `item`: one item's episode, and its outcome.
- `models`: its model, behind its cassette; `tapes`: what is recorded of it, live or played.
- `results`: the baseline that items are compared with, and the shard that a run is.
- `collection`: one item for each case that a marker selects, with its agent and model.
- `state`: what a process knows of its run, with the cases that it offers, runs and leaves out.
- `reading`: declares the options to pytest, reads and checks them; commands to show to the user.
- `settings`: every option, declared as the field of `Settings` that holds its value.
- `options`: what belongs to an option, and the parsers of values.
"""
