import puppeteer from "puppeteer-core";

const browserWSEndpoint = process.argv[2];
const browser = await puppeteer.connect({ browserWSEndpoint, defaultViewport: null });
const [page] = await browser.pages();
page.on("dialog", (dialog) => dialog.accept());
await page.type("#name", "Ann");
console.log(await page.$eval("#name", (field) => field.value));
await page.click("#ask");
console.log(await page.$eval("#said", (said) => said.textContent));
const button = await page.frames()[1].waitForSelector("button");
await button.click();
await page.select("select", "two");
await page.click("#go");
const late = await page.waitForSelector("#late");
console.log((await page.screenshot()).length > 0);
await late.click();
await page.close();
await browser.disconnect();
