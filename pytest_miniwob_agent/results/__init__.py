"""Results of runs, and what they say about a change.

- `file`: the results file: reading, writing, the merge of shards, the file as it was at a commit
- `comparison`: two runs paired by item: rates, set-ups, calls, tokens, cost, and limits for them
- `export`: a table of results for other tools
- `gate`: the gates, which decide by a baseline whether a run passes
- `rounds`: the order in which the gate `until-decided` looks at items
- `twins`: pairs within a run, of items and the same perturbed or attacked
- `statistics`: paired tests, intervals, and the levels of several looks
"""
