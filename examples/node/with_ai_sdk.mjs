// The loop of Vercel's AI SDK, with three methods of Playwright's page as its tools.
import { openai } from "@ai-sdk/openai";
import { generateText, stepCountIs, tool } from "ai";
import { chromium } from "playwright-core";
import { z } from "zod";

const { MINIWOB_CDP_URL, MINIWOB_GOAL, MINIWOB_MODEL } = process.env;
const browser = await chromium.connectOverCDP(MINIWOB_CDP_URL);
const [page] = browser.contexts()[0].pages();
const selector = z.string().describe('a selector of Playwright, such as role=button[name="OK"]');
const options = { timeout: 2000 };

await generateText({
  model: openai(MINIWOB_MODEL), // at OPENAI_BASE_URL
  maxRetries: 0,
  system: "You work on a web page. Reach the user's goal with the tools, one call at a time.",
  prompt: MINIWOB_GOAL,
  stopWhen: stepCountIs(50),
  tools: {
    look: tool({
      description: "Show the page as an aria snapshot.",
      inputSchema: z.object({}),
      execute: () => page.locator("body").ariaSnapshot(),
    }),
    click: tool({
      description: "Click an element.",
      inputSchema: z.object({ selector }),
      execute: async ({ selector }) => (await page.click(selector, options), "done"),
    }),
    fill: tool({
      description: "Fill a field with a text.",
      inputSchema: z.object({ selector, text: z.string() }),
      execute: async ({ selector, text }) => (await page.fill(selector, text, options), "done"),
    }),
  },
});
await browser.close();
