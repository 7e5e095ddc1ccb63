// A model that calls the tools of an MCP server: the page, without a browser of the program's own.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

type Call = { id: string; function: { name: string; arguments: string } };
type Message = { role: string; content?: string | null; tool_calls?: Call[]; tool_call_id?: string };

const { MINIWOB_MCP_URL, MINIWOB_MODEL, OPENAI_BASE_URL } = process.env;
const page = new Client({ name: "tool-caller", version: "1.0.0" });
await page.connect(new StreamableHTTPClientTransport(new URL(MINIWOB_MCP_URL!)));

async function call(name: string, input: Record<string, unknown> = {}): Promise<string> {
  const { content } = await page.callTool({ name, arguments: input });
  return (content as { text: string }[]).map(({ text }) => text).join("\n");
}

const tools = (await page.listTools()).tools.map(({ name, description, inputSchema }) => ({
  type: "function",
  function: { name, description, parameters: inputSchema },
}));

async function ask(messages: Message[]): Promise<Message> {
  const answer = await fetch(`${OPENAI_BASE_URL}/chat/completions`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ model: MINIWOB_MODEL, messages, tools }),
  });
  if (!answer.ok) throw new Error(await answer.text());
  return (await answer.json()).choices[0].message;
}

const messages: Message[] = [{ role: "user", content: await call("observe") }];
for (;;) {
  const message = await ask(messages);
  messages.push(message);
  if (!message.tool_calls?.length) break;
  for (const { id, function: wanted } of message.tool_calls) {
    const content = await call(wanted.name, JSON.parse(wanted.arguments));
    messages.push({ role: "tool", tool_call_id: id, content });
  }
}
await page.close();
