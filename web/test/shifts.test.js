// Nothing moves while a conversation opens.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { ask, close, launch, phone, serveModel } from "./harness.js";

const most = 0.02; // of the layout shift score
const quiet = 700; // ms without a shift until the page counts as settled

let server;
before(async () => (server = await serveModel()));
after(async () => {
  await close();
  await server?.stop();
});

/** Opens a page that records every layout shift, also those soon after an input. */
async function open(viewport) {
  const context = await (await launch()).newContext({ viewport, locale: "en-US", timezoneId: "UTC" });
  const page = await context.newPage();
  page.setDefaultTimeout(60_000);
  await page.addInitScript(() => {
    globalThis.shifts = [];
    globalThis.lastShift = 0;
    const name = (n) => n && `${n.nodeName} ${n.textContent?.slice(0, 30)}`;
    new PerformanceObserver((list) => {
      for (const e of list.getEntries()) {
        globalThis.lastShift = performance.now();
        const moved = (s) => `${name(s.node)}: ${JSON.stringify([s.previousRect, s.currentRect])}`;
        globalThis.shifts.push({ value: e.value, of: e.sources.map(moved) });
      }
    }).observe({ type: "layout-shift", buffered: true });
  });
  await page.goto(server.url);
  return page;
}

/** Fails if more has moved since the last call than may move. */
async function settled(page, what) {
  await page.evaluate(() => (globalThis.lastShift = performance.now()));
  await page.waitForFunction((ms) => performance.now() - globalThis.lastShift > ms, quiet);
  const shifts = await page.evaluate(() => globalThis.shifts.splice(0));
  const sum = shifts.reduce((n, s) => n + s.value, 0);
  const width = page.viewportSize().width;
  assert.ok(sum <= most, `${what} at ${width}: ${sum.toFixed(4)}\n${JSON.stringify(shifts, null, 1)}`);
}

/** Opens a conversation from the list. */
async function openListed(page, id) {
  const link = page.locator(`nav a[href*="${id}"]`).first();
  const show = page.getByRole("button", { name: "Show the conversations" });
  if (await show.isVisible()) await show.click();
  await link.waitFor();
  await settled(page, "the list");
  await link.click();
  await page.getByRole("article").first().waitFor();
}

const idOf = (page) => /\/c\/([^/?]+)/.exec(page.url())[1];

for (const viewport of [{ width: 1440, height: 900 }, { width: 1024, height: 768 }, phone])
  test(`nothing moves while a conversation opens, at ${viewport.width}`, async () => {
    const p = await open(viewport);
    await settled(p, "the start page");
    await ask(p, "Tell the story of the orders");
    await settled(p, "the first question");
    const first = idOf(p);
    await p.goto(server.url);
    await ask(p, "What is the growth?");
    await settled(p, "another question");
    const second = idOf(p);
    for (const id of [first, second]) {
      await p.goto(`${server.url}/c/${id}`);
      await p.getByRole("article").first().waitFor();
      await settled(p, "a saved conversation");
    }
    await p.goto(server.url);
    await openListed(p, first);
    await settled(p, "home to a conversation");
    for (const id of [second, first, second]) {
      await openListed(p, id);
      await settled(p, "conversation to conversation");
    }
    await p.goto(server.url);
    await p.getByRole("textbox", { name: "Your question" }).fill("Go on forever");
    await p.getByRole("button", { name: "Send" }).click();
    await p.getByText("and again and again").first().waitFor();
    await settled(p, "a stream");
    await p.reload();
    await p.getByText("and again and again").first().waitFor();
    await settled(p, "a reload during the stream");
    await p.getByRole("button", { name: "Stop" }).click();
    await p.getByText("You stopped this answer.").waitFor();
    await settled(p, "stop");
    await p.context().close();
  });
