"""What everything else is made of, with the standard library alone.

- `case`: a task and a seed; the most trials, actions and calls.
- `app`: a task on a running app, and what goes between the app and its page.
- `actions`: what an agent can do; `parsing` reads them in text and in calls of tools.
- `observations`: what an agent sees of a page, and the result of an action.
- `chat`: messages, requests and responses of a model, and their tokens.
- `events`: what happened in an episode, in order.
- `grades`: what graders say of it.
- `outcome`: what a run found out about an item.
- `errors`: the hierarchy of errors.
- `pace`: where the page's clock has moved on for a program.
- `protocols`: interfaces of agents, environments, models and observers.
- `data`: plain JSON data, kinds of text that differ from run to run, and digests.
- `code_digest`: what a function does, as a digest.
- `files`: atomic writing, and paths as shown.
- `text`: foreign text made harmless or wrapped, counts and lists in words, tables.
- `secrets`: keys in data, found and masked; `decoding` has what encodings hide.
"""
