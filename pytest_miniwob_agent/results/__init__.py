"""Results of runs, and what they say about a change.

- `file`: the results file: reading, writing, one line per item, also as it was at a commit
- `merge`: the merge of the results of shards
- `comparison`: two runs paired by item: rates, set-ups, calls, tokens, cost, and limits for them
- `export`: a table of results for other tools
- `gate`: the gates, which decide by a baseline whether a run passes
- `statistics`: paired tests, intervals, and how many items decide
"""
