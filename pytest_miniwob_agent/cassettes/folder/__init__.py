"""The cassette folder, and the steps of `miniwob-agent cassettes`.

- `stems`: the names of cassettes, the files in the folder, and which of them items use
- `steps`: lint, prune, stats and show
"""
