"""Calls of language models over HTTP.

- `requests`: model calls as agents make them: `complete`, `chat`, `openai` clients, a server.
- `client`: a live server, called through the `openai` client; keys, and advice on failed calls.
- `http`: the HTTP library that the installed `openai` is built on.
- `apis`: forms of requests and answers, found by the path of a request.
- `api`: what an API is, reading of JSON that may have any form, and pictures in it.
- `bodies`: how answers of each content type are recorded and sent again.
- `openai_apis`: OpenAI's Chat Completions and Responses; those of other providers are plugins.
- `params`: parameters of calls, and addresses of servers.
- `budget`: limits on live calls over all workers, what calls cost, and which errors stop a run.
"""
