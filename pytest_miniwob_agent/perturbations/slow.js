// Requests are answered 5 to 8 seconds later, which is longer than a page rests before it is read.
page.onRequest(async () => {
  const ms = 5000 + 3000 * page.random();
  page.applied();
  await page.wait(ms);
});
