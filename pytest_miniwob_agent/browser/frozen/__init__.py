"""Frozen copies of real pages, as own pages (`miniwob-agent freeze`).

- `har`: exchanges of a HAR file, and the answers that pages get from one.
- `sources`: exchanges of an address, a HAR file or a WACZ archive.
- `site`: the folder that is written of them.
"""
