"""The tape of one item, and what keeps it.

- `model`: the item's model, which asks the tape first and then the server
- `tape`: the calls of the item: matches, plays, and knows what is left
- `recording`: a tape with its files, modes and checks
- `files`: the item's files, their lock, and the order of writes that loses no call
- `pictures`: the pictures of requests, beside the cassettes
"""
