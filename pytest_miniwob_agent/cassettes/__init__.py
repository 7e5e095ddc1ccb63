"""Recorded model calls.

The file (`file`, `validation`, `serializer`), an item's replay and recording (`item`, `item_files`,
`lock`, `transport`, `drift`), the folder (`names`, `folder`, `lint`, `prune`, `stats`,
`conversation`), and deferred recording (`pending`, `batches`, `batch_state`, `batch_api`).
"""
