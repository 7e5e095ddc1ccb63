"""Results of runs, and what they say about a change.

- `file`: the results file: reading, writing, one line per item
- `git`: results files as they were at a commit
- `merge`: the merge of the results of shards
- `comparison`: two runs paired by item: rates, set-ups, calls and tokens
- `export`: a table of results for other tools
- `measures`: calls, tokens, cost and steps of two runs, and limits for them
- `gate`: the gates, which decide by a baseline whether a run passes
- `statistics`: paired tests, intervals, and how many items decide
"""
