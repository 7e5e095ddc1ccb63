import { chromium } from "playwright-core";

const browser = await chromium.connectOverCDP(process.argv[2]);
const [page] = browser.contexts()[0].pages();
page.on("dialog", (dialog) => dialog.accept());
await page.fill("#name", "Ann");
console.log(await page.inputValue("#name"));
await page.click("#ask");
console.log(await page.textContent("#said"));
await page.frameLocator("iframe").locator("button").click();
await page.selectOption("select", "two");
await page.getByRole("button", { name: "Go" }).click();
const late = await page.waitForSelector("#late");
console.log((await page.screenshot()).length > 0);
await late.click();
await browser.close();
