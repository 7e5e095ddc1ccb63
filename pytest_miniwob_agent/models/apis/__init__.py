"""APIs of model servers: requests and answers of each form, read for people and for counting.

- `api`: what an API is, and any other JSON as one.
- `chat_completions`, `responses`: OpenAI's two.
- `messages`: Anthropic's.
- `registry`: all APIs; finds the one of a path.
- `recorded`: answers as cassettes hold them: JSON, or the text of a stream.
- `lenient`: reading of JSON that may have any form.
- `sse`: event streams.
"""

from pytest_miniwob_agent.models.apis.api import API
from pytest_miniwob_agent.models.apis.registry import CHAT, api_of, path_of, provider_of

__all__ = ["API", "CHAT", "api_of", "path_of", "provider_of"]
