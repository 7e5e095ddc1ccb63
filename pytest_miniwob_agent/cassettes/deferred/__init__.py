"""Deferred recording, through files or a provider's Batch API.

- `pending`: `pending.jsonl`, the requests that wait for a completion
- `answers`: `answers.jsonl`, their completions, and answers that may not be stored
- `batches`: the steps of `miniwob-agent batch`
"""

from pathlib import Path

PENDING = Path(".miniwob/pending.jsonl")
"""The batch file of deferred recording, below the project's folder."""
