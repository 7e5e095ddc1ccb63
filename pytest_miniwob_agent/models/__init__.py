"""Calls of language models over HTTP.

- `client`: a live server, called through the `openai` client.
- `chat`: `complete` and `chat` as requests.
- `openai_clients`, `server`: the clients and the server that an agent gets.
- `requests`: HTTP requests of any client, read into what can be recorded.
- `apis`: forms of requests and answers.
- `keys`: the server of a request, and its key.
- `params`: parameters of calls, and addresses of servers.
- `budget`: limits on live calls, over all workers; `prices` is what they cost.
- `unusable`: answers that hold no completion.
- `failures`: failed calls: those that all calls would fail like, and advice.
"""
