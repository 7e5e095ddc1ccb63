"""Recorded model calls.

- `tape`: a call, and the tape: the calls of an item, those that were made and those that are left
- `format`: reading, checking and writing a cassette, and its YAML
- `folder`: the names of cassettes, the files in their folder, and which of them items use
- `modes`: the modes of recording
- `files`: the files of an item with its mode and lock, and writes that lose no call; pictures
- `drift`: how calls differ from the recorded ones, and why
- `varying`: what differs from run to run in requests, and the `normalize` that leaves it out
- `recording`: the item's model: the tape, the matcher and the server, put together
- `traffic`: what goes between an app and its page
- `deferred`: recording through files
- `upkeep`: checking, pruning, counting and showing all cassettes
"""
