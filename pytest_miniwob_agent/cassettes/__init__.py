"""Recorded model calls.

The file (`file`, `validation`, `serializer`), an item's replay and recording (`item`, `transport`,
`drift`), the folder (`folder`, `lint`, `prune`, `stats`, `conversation`), and deferred recording
(`pending`, `batches`, `batch_state`, `batch_api`).
"""
