"""Deferred recording, through files or a provider's Batch API.

- `pending`: `pending.jsonl`, the requests that wait for a completion
- `answers`: `answers.jsonl`, their completions, and answers that may not be stored
- `batches`: the steps of `miniwob-agent batch`
- `batch_command`: these commands as they are shown
"""
