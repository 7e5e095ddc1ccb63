"""What everything else is made of, with the standard library alone.

- `case`: a task and a seed; the most trials, actions and calls.
- `actions`: what an agent can do; `parsing` reads actions in text, `tools` as calls of a model.
- `observations`: what an agent sees of a page, and the result of an action.
- `chat`: messages, requests and responses of a model, and their tokens.
- `events`: what happened in an episode, in order.
- `outcome`: what a run found out about an item.
- `errors`: the hierarchy of errors.
- `protocols`: interfaces of agents, environments, models and observers.
- `masks`: kinds of text that differ from run to run.
- `data`: plain JSON data and digests.
- `files`: atomic writing, and paths as shown.
- `loops`: the event loops of agents, apart from that of the tests.
- `text`: foreign texts made harmless, counts and lists in words.
- `secrets`: keys in data, found and redacted.
"""
