"""The cassette folder, and the steps of `miniwob-agent cassettes`.

- `stems`: the files in the folder, and which of them items use
- `lint`: problems
- `prune`: removal of unused files
- `stats`: counts
- `show`: the calls of a cassette as a conversation
"""
