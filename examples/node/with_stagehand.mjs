// Stagehand, which finds one action at a time for the goal and carries it out.
import { Stagehand } from "@browserbasehq/stagehand";

const { MINIWOB_CDP_URL, MINIWOB_GOAL, MINIWOB_MODEL, OPENAI_BASE_URL } = process.env;
const stagehand = new Stagehand({
  env: "LOCAL",
  localBrowserLaunchOptions: { cdpUrl: MINIWOB_CDP_URL },
  model: { modelName: `openai/${MINIWOB_MODEL}`, apiKey: "any", baseURL: OPENAI_BASE_URL },
  disablePino: true,
  verbose: 0,
});
await stagehand.init();
for (let step = 0; step < 20; step += 1) {
  const { success, message } = await stagehand.act(MINIWOB_GOAL);
  console.log(message);
  if (!success) break;
}
await stagehand.close();
