"""Results of runs, and what they say about a change.

- `file`: the results file: reading, writing, one line per item
- `git`: results files as they were at a commit
- `shard`: the shards of a suite: their head, and the check that they belong together
- `merge`: the merge of the results of shards
- `comparison`: two runs paired by item: rates, set-ups, calls and tokens
- `gate`: the gates, which decide by a baseline whether a run passes
- `statistics`: paired tests, intervals, and the number of items that decides
- `published`: a run in the form of the papers' tables, beside the published figures
- `data/`: the published figures
"""
