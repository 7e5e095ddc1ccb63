"""Calls of language models over HTTP.

- `client`: a live server, called through the `openai` client; the keys of servers.
- `http`: the HTTP library that the installed `openai` is built on.
- `requests`: requests of `complete` and `chat`, and those of clients and frameworks.
- `openai_clients`, `server`: the clients and the server that an agent gets.
- `apis`: forms of requests and answers.
- `params`: parameters of calls, and addresses of servers.
- `budget`: limits on live calls, over all workers, and what calls cost.
- `unusable`: answers that hold no completion.
- `failures`: failed calls: those that all calls would fail like, and advice.
"""
