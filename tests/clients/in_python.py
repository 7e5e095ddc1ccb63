"""Clients of models and frameworks as programs of an item: `in_python.py NAME` asks for a text.

Each function is a client as its users write it, and yields what the model has said.
"""

import asyncio
import os
import sys

from support.driving import Program

MODEL = os.environ["MINIWOB_MODEL"]
ASK = [{"role": "user", "content": "Hi"}]


def agno():
    from agno.agent import Agent
    from agno.models.openai import OpenAIChat

    agent = Agent(model=OpenAIChat(id=MODEL, max_retries=0), telemetry=False)
    yield agent.run("Hi").content


def ask_for_messages(client):
    ask = {"model": MODEL, "max_tokens": 9, "messages": ASK}
    yield client.messages.create(**ask).content[0].text
    with client.messages.stream(**ask) as stream:
        yield "".join(stream.text_stream)


def anthropic():
    from anthropic import Anthropic

    yield from ask_for_messages(Anthropic(max_retries=0))


def anthropic_bedrock():
    from anthropic import AnthropicBedrock

    yield from ask_for_messages(AnthropicBedrock(max_retries=0))


def autogen():
    from autogen_agentchat.agents import AssistantAgent
    from autogen_ext.models.openai import OpenAIChatCompletionClient

    names = ("vision", "function_calling", "json_output", "structured_output")
    about = {**dict.fromkeys(names, False), "family": "unknown"}
    client = OpenAIChatCompletionClient(model=MODEL, model_info=about, max_retries=0)
    yield asyncio.run(AssistantAgent("agent", client).run(task="Hi")).messages[-1].content


def boto3():
    import boto3

    client = boto3.client("bedrock-runtime")
    ask = {"modelId": MODEL, "messages": [{"role": "user", "content": [{"text": "Hi"}]}]}
    yield client.converse(**ask)["output"]["message"]["content"][0]["text"]
    events = list(client.converse_stream(**ask)["stream"])
    texts = [event["contentBlockDelta"] for event in events if "contentBlockDelta" in event]
    yield "".join(text["delta"]["text"] for text in texts)


def cohere():
    import cohere

    client = cohere.ClientV2()
    yield client.chat(model=MODEL, messages=ASK).message.content[0].text
    stream = client.chat_stream(model=MODEL, messages=ASK)
    events = [event for event in stream if event.type == "content-delta"]
    yield "".join(event.delta.message.content.text for event in events)


def dspy():
    import dspy

    url = os.environ["OPENAI_BASE_URL"]
    lm = dspy.LM(f"openai/{MODEL}", api_base=url, api_key="any", cache=False, num_retries=0)
    yield lm("Hi")[0]


def google_adk():
    from google.adk.agents import Agent
    from google.adk.runners import InMemoryRunner
    from google.genai import types

    async def run():
        runner = InMemoryRunner(Agent(name="agent", model=f"gemini-{MODEL}"), app_name="app")
        session = await runner.session_service.create_session(app_name="app", user_id="me")
        message = types.Content(role="user", parts=[types.Part(text="Hi")])
        about = {"user_id": "me", "session_id": session.id, "new_message": message}
        return [event.content.parts[0].text async for event in runner.run_async(**about)]

    yield asyncio.run(run())[-1]


def google_genai():
    from google import genai

    client = genai.Client()
    ask = {"model": MODEL, "contents": "Hi"}
    yield client.models.generate_content(**ask).text
    yield "".join(part.text for part in client.models.generate_content_stream(**ask))
    yield client.interactions.create(model=MODEL, input="Hi").output_text
    vertex = genai.Client(vertexai=True, api_key="any")
    yield vertex.models.generate_content(**ask).text


def groq():
    from groq import Groq

    client = Groq(max_retries=0)
    ask = {"model": MODEL, "messages": ASK}
    yield client.chat.completions.create(**ask).choices[0].message.content
    parts = client.chat.completions.create(**ask, stream=True)
    yield "".join(part.choices[0].delta.content or "" for part in parts if part.choices)


def haystack():
    from haystack.components.generators.chat import OpenAIChatGenerator
    from haystack.dataclasses import ChatMessage

    url = os.environ["OPENAI_BASE_URL"]
    generator = OpenAIChatGenerator(model=MODEL, api_base_url=url, max_retries=0)
    yield generator.run([ChatMessage.from_user("Hi")])["replies"][0].text


def llama_index():
    from llama_index.core.llms import ChatMessage
    from llama_index.llms.openai_like import OpenAILike

    url = os.environ["OPENAI_BASE_URL"]
    llm = OpenAILike(MODEL, api_base=url, api_key="any", is_chat_model=True, max_retries=0)
    yield llm.chat([ChatMessage(role="user", content="Hi")]).message.content


def mistralai():
    from mistralai.client import Mistral

    client = Mistral(api_key="any", server_url=os.environ["MISTRAL_BASE_URL"])
    yield client.chat.complete(model=MODEL, messages=ASK).choices[0].message.content
    parts = client.chat.stream(model=MODEL, messages=ASK)
    yield "".join(part.data.choices[0].delta.content or "" for part in parts if part.data.choices)


def ollama():
    import ollama

    yield ollama.chat(MODEL, ASK).message.content
    yield "".join(part.message.content for part in ollama.chat(MODEL, ASK, stream=True))
    yield ollama.generate(MODEL, "Hi").response


def semantic_kernel():
    from openai import AsyncOpenAI
    from semantic_kernel.agents import ChatCompletionAgent
    from semantic_kernel.connectors.ai.open_ai import OpenAIChatCompletion

    service = OpenAIChatCompletion(ai_model_id=MODEL, async_client=AsyncOpenAI(max_retries=0))
    agent = ChatCompletionAgent(service=service, name="agent")
    yield str(asyncio.run(agent.get_response(messages="Hi")))


print("said", *globals()[sys.argv[1]]())
with Program(os.environ["MINIWOB_CDP_URL"]) as page:
    page.click("#yes")
