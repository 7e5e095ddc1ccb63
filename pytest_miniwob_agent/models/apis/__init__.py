"""APIs of model servers: requests and answers of each form, read for people and for counting.

One module a form: OpenAI's Chat Completions and Responses, and Anthropic's Messages. Requests of
any other form are recorded and replayed all the same, and shown as JSON.
"""

from pytest_miniwob_agent.models.apis.api import API, CHAT, api_of, path_of

__all__ = ["API", "CHAT", "api_of", "path_of"]
