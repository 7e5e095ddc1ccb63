"""Playwright's MCP server, whose tools the model calls over `llm.client`."""

import json
import sys
import tempfile

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

SYSTEM = "You work on the page of a browser. Reach the user's goal with the tools, then stop."
TOOLS = ("browser_click", "browser_press_key", "browser_select_option", "browser_type")
# A snapshot that the server takes by itself goes to a file, whose name has the time in it.
SERVER = ["-m", "playwright", "mcp", "--snapshot-mode=none", "--timeout-settle=0"]


class PlaywrightMCP:
    """Calls the server's tools until the page has judged, or the model calls none."""

    name = "playwright-mcp"

    async def solve(self, env, llm, note):
        """Play one trial."""
        goal = env.reset().goal
        with env.hand_over() as page, tempfile.TemporaryDirectory() as folder:
            arguments = [*SERVER, f"--cdp-endpoint={page.cdp_url}"]
            server = StdioServerParameters(command=sys.executable, args=arguments, cwd=folder)
            async with stdio_client(server) as pipes, ClientSession(*pipes) as session:
                await session.initialize()
                await self.work(page, session, llm, goal)

    async def work(self, page, session, llm, goal):
        """Let the model call tools."""

        async def call(name, arguments):
            result = await session.call_tool(name, arguments)
            text = "\n".join(part.text for part in result.content if part.type == "text")
            return text.partition("\n### Events")[0]  # of the console, which differ by browser

        listed = [each for each in (await session.list_tools()).tools if each.name in TOOLS]
        seen = await call("browser_snapshot", {})
        messages = [{"role": "system", "content": SYSTEM}]
        messages += [{"role": "user", "content": f"{goal}\n{seen}"}]
        while not page.done:
            answer = llm.client.chat.completions.create(
                model=llm.model, messages=messages, tools=[function(each) for each in listed]
            )
            message = answer.choices[0].message
            messages.append(message.model_dump(exclude_none=True))
            if not message.tool_calls:
                return
            for each in message.tool_calls:
                result = await call(each.function.name, json.loads(each.function.arguments))
                result += "\n" + await call("browser_snapshot", {})
                messages.append({"role": "tool", "tool_call_id": each.id, "content": result})


def function(tool):
    """Return a tool of the server as OpenAI has it."""
    about = {"name": tool.name, "description": tool.description, "parameters": tool.input_schema}
    return {"type": "function", "function": about}
