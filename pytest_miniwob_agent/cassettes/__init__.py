"""Recorded model calls.

- `format`: a call, and the file of an item's calls
- `tape`: the calls of an item, replayed or recorded
- `drift`: how calls differ from the recorded ones, and why
- `folder`: all cassettes: checking, pruning, counting and showing them
- `deferred`: recording through files and a provider's Batch API
"""
