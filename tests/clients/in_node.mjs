// Clients of models as programs of an item: `in_node.mjs NAME` asks for a text. Each function is a client
// as its users write it, and returns what the model has said.
import { chromium } from "playwright-core";

const { env } = process;
const model = env.MINIWOB_MODEL;
const messages = [{ role: "user", content: "Hi" }];

const clients = {
  async anthropic() {
    const { default: Anthropic } = await import("@anthropic-ai/sdk");
    const client = new Anthropic({ maxRetries: 0 });
    const asked = { model, max_tokens: 9, messages };
    const whole = await client.messages.create(asked);
    return [whole.content[0].text, await client.messages.stream(asked).finalText()];
  },

  async bedrock() {
    const { BedrockRuntimeClient, ConverseCommand, ConverseStreamCommand } = await import(
      "@aws-sdk/client-bedrock-runtime"
    );
    const { NodeHttpHandler } = await import("@smithy/node-http-handler");
    const requestHandler = new NodeHttpHandler(); // its own speaks HTTP/2
    const client = new BedrockRuntimeClient({ requestHandler });
    const asked = { modelId: model, messages: [{ role: "user", content: [{ text: "Hi" }] }] };
    const whole = await client.send(new ConverseCommand(asked));
    const { stream } = await client.send(new ConverseStreamCommand(asked));
    let streamed = "";
    for await (const event of stream) streamed += event.contentBlockDelta?.delta.text ?? "";
    return [whole.output.message.content[0].text, streamed];
  },

  async cohere() {
    const { CohereClientV2 } = await import("cohere-ai");
    const client = new CohereClientV2({ token: "any", environment: env.CO_API_URL });
    const whole = await client.chat({ model, messages });
    let streamed = "";
    for await (const event of await client.chatStream({ model, messages })) {
      streamed += event.delta?.message?.content?.text ?? "";
    }
    return [whole.message.content[0].text, streamed];
  },

  async genai() {
    const { GoogleGenAI } = await import("@google/genai");
    const client = new GoogleGenAI({ httpOptions: { baseUrl: env.GOOGLE_GEMINI_BASE_URL } });
    const asked = { model, contents: "Hi" };
    const whole = await client.models.generateContent(asked);
    let streamed = "";
    for await (const part of await client.models.generateContentStream(asked)) {
      streamed += part.text;
    }
    return [whole.text, streamed];
  },

  async ollama() {
    const { Ollama } = await import("ollama");
    const client = new Ollama({ host: env.OLLAMA_HOST });
    const whole = await client.chat({ model, messages });
    let streamed = "";
    for await (const part of await client.chat({ model, messages, stream: true })) {
      streamed += part.message.content;
    }
    return [whole.message.content, streamed];
  },
};

console.log("said", ...(await clients[process.argv[2]]()));
const browser = await chromium.connectOverCDP(env.MINIWOB_CDP_URL);
await browser.contexts()[0].pages()[0].click("#yes");
await browser.close();
