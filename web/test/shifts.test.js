// Nothing moves while a conversation opens.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { ready } from "./chart.js";
import { ask, close, launch, phone, serve, serveModel } from "./harness.js";

const most = 0.02; // of the layout shift score
const quiet = 700; // ms without a shift until the page counts as settled

const viewports = [{ width: 1440, height: 900 }, { width: 1024, height: 768 }, phone];

let server;
let offline; // a server without a model
before(async () => {
  server = await serveModel();
  offline = await serve();
});
after(async () => {
  await close();
  await server?.stop();
  await offline?.stop();
});

const newContext = async () => (await launch()).newContext({ locale: "en-US", timezoneId: "UTC" });

/** Opens a page that records every layout shift, also those soon after an input. */
async function open(url, viewport, context) {
  const page = await (context ?? (await newContext())).newPage();
  await page.setViewportSize(viewport);
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
  await page.goto(url);
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
  await show.or(link).first().waitFor();
  if (await show.isVisible()) await show.click();
  await link.waitFor();
  await settled(page, "the list");
  await link.click();
  await page.getByRole("article").first().waitFor();
}

const idOf = (page) => /\/c\/([^/?]+)/.exec(page.url())[1];

for (const viewport of viewports)
  test(`nothing moves while a conversation opens, at ${viewport.width}`, async () => {
    const p = await open(server.url, viewport);
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

/** Asks a question of each assistant. Returns the addresses of the conversations, and the browser that has the file. */
async function conversations() {
  const context = await newContext();
  const p = await open(offline.url, viewports[0], context);
  const addresses = {};
  const asked = async (name, question) => {
    await ask(p, question);
    addresses[name] = p.url();
  };
  const choose = async (name) => {
    await p.goto(offline.url);
    await p.getByRole("button", { name: /^(Analyst|Coder|Local files)/ }).click();
    await p.getByRole("menuitemradio", { name }).click();
  };
  await asked("a chart inline", "Revenue by month");
  await p.goto(offline.url);
  await asked("a decline", "Revenue by region");
  await choose(/^Coder/);
  await asked("the coder", "list files");
  await choose(/^Coder/);
  await p.getByRole("textbox", { name: "Your question" }).fill("replace draft by final in README.md");
  await p.getByRole("button", { name: "Send" }).click();
  await p.getByRole("group", { name: "Approval" }).waitFor();
  addresses["an approval"] = p.url();
  await choose(/^Local files/);
  await p.getByRole("button", { name: "Total revenue by region" }).click();
  await p.getByRole("button", { name: "Copy the answer" }).waitFor();
  addresses["a local file"] = p.url();
  await p.goto(`${offline.url}/chart/EURUSD/1h`);
  await ready(p);
  await asked("the chat of a chart", "Draw support and resistance");
  await p.close();
  return { context, addresses };
}

const slow = { offline: false, latency: 200, downloadThroughput: 400_000, uploadThroughput: 100_000 };

// Every width with both networks takes two minutes; npm run test-long does that.
const opened =
  process.env.SHIFTS === "all"
    ? viewports.flatMap((v) => ["fast", "slow"].map((network) => [v, network]))
    : [
        [viewports[0], "fast"],
        [phone, "slow"],
      ];

test("nothing moves while a conversation opens by its address", async (t) => {
  const { context, addresses } = await conversations();
  for (const [viewport, network] of opened)
    for (const [name, address] of Object.entries(addresses))
      await t.test(`${name}, at ${viewport.width}, on a ${network} network`, async () => {
        // The file is in this browser. The others open in a new one, which has nothing in its cache.
        const local = name === "a local file";
        const p = await open("about:blank", viewport, local ? context : undefined);
        p.setDefaultTimeout(30_000);
        if (network === "slow") {
          const cdp = await p.context().newCDPSession(p);
          await cdp.send("Network.enable");
          await cdp.send("Network.emulateNetworkConditions", slow);
        }
        await p.goto(address);
        if (name === "the chat of a chart") await ready(p);
        else await p.getByRole("article").first().waitFor();
        if (local && network === "fast") await p.getByText("72 rows").first().waitFor();
        await p.locator(".chart:not([data-drawn])").first().waitFor({ state: "detached" });
        await settled(p, name);
        await (local ? p.close() : p.context().close());
      });
  await context.close();
});
