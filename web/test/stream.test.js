import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { answered, ask, close, desktop, line, open, phone, serveModel, shot } from "./harness.js";
import { assertShort, tasks, measureReference } from "./tasks.js";

let server;
before(async () => (server = await serveModel()));
after(async () => {
  await server?.stop();
  await close();
});

const send = async (page, question) => {
  await page.getByRole("textbox", { name: "Your question" }).fill(question);
  await page.getByRole("button", { name: "Send" }).click();
};

/** Records every layout shift that no input explains. */
const watch = (page) =>
  page.addInitScript(() => {
    window.shifts = [];
    new PerformanceObserver((l) => {
      for (const e of l.getEntries())
        if (!e.hadRecentInput)
          window.shifts.push([e.value, ...e.sources.map((s) => s.node?.className ?? s.node?.nodeName)]);
    }).observe({ type: "layout-shift", buffered: true });
  });

// Browsers attribute layout shifts within 500 ms of a click to the click, so these responses
// are delayed beyond that.
const slow = (page) =>
  page.route(
    "**/*",
    async (r) => (await new Promise((resolve) => setTimeout(resolve, 700)), await r.continue().catch(() => {})),
  );

/** Fails if the layout has moved since the last call. */
async function moved(page, what) {
  await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
  const shifts = await page.evaluate(() => window.shifts.splice(0));
  const sum = shifts.reduce((a, [v]) => a + v, 0);
  assert.ok(sum < 0.05, `${what}: the layout moved by ${sum}: ${JSON.stringify(shifts)}`);
}

test("a growing answer moves nothing that is already shown", async () => {
  for (const viewport of [desktop, phone]) {
    const p = await open(server.url, { viewport, fresh: true });
    await watch(p);
    await p.reload();
    await slow(p);
    await send(p, "Tell me the story of the orders");
    if (viewport === desktop) {
      // The pane opens once, with the result and before the answer, and takes its space from the thread.
      await p.getByRole("tabpanel").waitFor();
      await p.evaluate(() => window.shifts.splice(0));
    }
    await p.getByRole("log").getByText("The beginning").waitFor();
    await shot(p, `streaming-${viewport.width}`);
    await answered(p, "Tell me the story of the orders");
    await moved(p, `a growing answer at ${viewport.width}`);
    await p.done();
  }
});

test("the first page, a conversation and its panes load without layout shifts", async () => {
  for (const viewport of [desktop, phone]) {
    const wide = viewport === desktop;
    const at = (what) => `${what} at ${viewport.width}`;
    const p = await open(server.url, { viewport, fresh: true });
    for (const question of ["quick, to begin with", "quick, again", "Tell me the story of the orders"])
      await ask(p, question);
    const conversation = p.url();
    const listed = p.getByRole("navigation", { name: "Conversations" }).locator('a[href^="/c/"]').first();
    await watch(p);
    await slow(p);

    await p.goto(server.url);
    await p.getByRole("region", { name: "Questions to begin with" }).getByRole("button").nth(5).waitFor();
    if (wide) await listed.waitFor();
    await moved(p, at("loading the first page"));

    if (!wide) await p.getByRole("button", { name: "Show the conversations" }).click();
    await listed.click();
    await p.getByRole("article").nth(2).waitFor();
    if (wide) await p.getByRole("tabpanel").waitFor();
    await moved(p, at("opening a conversation"));

    await p.goto(conversation);
    await p.getByRole("article").nth(2).waitFor();
    if (wide) await p.getByRole("tabpanel").waitFor();
    await moved(p, at("loading a conversation"));

    await p.goto(`${conversation}/r1`);
    await p.getByRole("tabpanel").waitFor();
    await moved(p, at("loading a result"));

    for (const tab of ["Table", "SQL", "Chart", "Table"]) {
      await p.getByRole("tab", { name: tab }).click();
      await p.getByRole("tab", { name: tab, selected: true }).waitFor();
      if (tab === "Table") await p.getByRole("grid").getByRole("gridcell").first().waitFor();
      if (tab === "SQL") await p.getByRole("textbox", { name: "SQL" }).waitFor();
      await moved(p, at(`showing ${tab}`));
    }
    await p.done();
  }
});

test("text before a query becomes a quiet line and causes no layout shift", async () => {
  // Too narrow for the pane, which takes its space from the thread when it opens.
  const p = await open(server.url, { viewport: { width: 1000, height: 800 }, fresh: true });
  await watch(p);
  await p.reload();
  await slow(p);
  await p.evaluate(() => {
    window.seen = [];
    new MutationObserver(() => {
      const prose = document.querySelector("article .prose")?.textContent ?? "";
      if (/^I count the orders/.test(prose))
        window.seen.push(document.querySelector("article button")?.textContent ?? "");
    }).observe(document.body, { subtree: true, childList: true, characterData: true });
  });
  await send(p, "Tell me the story of the orders");
  const turn = await answered(p, "Tell me the story of the orders");
  // While it was shown as prose, no query had begun.
  assert.deepEqual(
    (await p.evaluate(() => window.seen)).filter((s) => /query/i.test(s)),
    [],
  );
  await turn.getByText("I count the orders by month.").waitFor({ state: "hidden" });
  await moved(p, "text before a query");
  await p.done();
});

test("a long conversation stays quick at 200 deltas a second", async () => {
  const p = await open(server.url);
  for (let i = 0; i < 19; i++) await ask(p, `quick, question ${i}`);
  const took = await tasks(p, async () => {
    await send(p, "Tell me the story of the orders");
    await answered(p, "Tell me the story of the orders");
  });
  assert.equal(await p.getByRole("article").count(), 20);
  assert.ok(took.length > 500, `only ${took.length} tasks were seen`);
  assertShort(took, await measureReference(p), 0.5, "a long conversation");
  await p.done();
});

test("a reader who scrolled up stays there and can go to the end", async () => {
  const p = await open(server.url, { viewport: { width: 1000, height: 500 } });
  await ask(p, "quick, to begin with");
  await send(p, "Tell me the story of the orders");
  const log = p.getByRole("log");
  const scroller = log.locator("..");
  await log.getByText("The beginning").waitFor();
  await scroller.hover();
  await p.mouse.wheel(0, -2000);
  await p.waitForFunction((el) => el.scrollTop === 0, await scroller.elementHandle());
  await log.getByText("The autumn").waitFor();
  assert.equal(await scroller.evaluate((el) => el.scrollTop), 0, "the view was moved");
  await p.getByRole("button", { name: "Jump to latest" }).click();
  await answered(p, "Tell me the story of the orders");
  await p.waitForFunction((el) => el.scrollHeight - el.scrollTop - el.clientHeight < 4, await scroller.elementHandle());
  await p.getByRole("button", { name: "Jump to latest" }).waitFor({ state: "hidden" });
  await p.done();
});

test("a reload in the middle of an answer loses nothing, and a second tab sees the same", async () => {
  const p = await open(server.url);
  await send(p, "Tell me the story of the orders");
  await p.getByRole("log").getByText("The beginning").waitFor();
  await p.reload();
  const other = await open(p.url(), { context: p.context() });
  const text = async (page) => {
    const turn = await answered(page, "Tell me the story of the orders");
    await turn.getByText("neither will I guess").waitFor();
    await turn.getByRole("heading", { name: "The beginning" }).waitFor(); // drawn, no longer as it was written
    return turn.locator(".prose").last().innerText();
  };
  const [a, b] = await Promise.all([text(p), text(other)]);
  assert.equal(a, b);
  assert.match(a, /neither will I guess\.$/);
  assert.equal(a.match(/The beginning/g).length, 1);
  await other.done();
  await p.done();
});

test("stop ends an answer within a second, from another tab too", async () => {
  const p = await open(server.url);
  const tries = [];
  for (const last of [false, false, true]) {
    await p.goto(server.url);
    await send(p, "Go on forever");
    await p.getByRole("log").getByText("and again and again").waitFor();
    const other = await open(p.url(), { context: p.context() });
    const asked = other.waitForRequest(/\/stop$/);
    await other.getByRole("button", { name: "Stop" }).click();
    const request = await asked;
    await request.response();
    await Promise.all([p, other].map((tab) => tab.getByText("You stopped this answer.").waitFor()));
    await other.done();
    // From the request to the event in the log, by one clock, so that painting on a busy machine
    // does not count. One of three tries may be late for the same reason.
    const id = /\/c\/([^/?]+)/.exec(p.url())[1];
    const events = (await (await fetch(`${server.url}/api/conversations/${id}/events`)).text())
      .trim()
      .split("\n")
      .map((l) => JSON.parse(l));
    tries.push(Date.parse(events.find((e) => e.kind === "run_stopped").time) - request.timing().startTime);
    if (tries.at(-1) < 1000) break;
    assert.ok(!last, `it took ${tries} ms`);
  }
  // What had been said stays, and nobody takes it for checked.
  await p.locator(".prose").getByText("and again and again").waitFor();
  await p.getByText("Its numbers were not checked.").waitFor();
  await shot(p, "stopped");
  await p.done();
});

test("a failure is explained, with a way to go on", async () => {
  const p = await open(server.url);
  await send(p, "Make trouble");
  await p.getByRole("alert").getByRole("button", { name: "Try again" }).waitFor();
  await shot(p, "failed");
  await p.done();
});

test("a dropped connection resumes automatically", async () => {
  const wire = await line(server.url);
  try {
    const p = await open(wire.url, { allow: [/Failed to load resource/, /net::ERR/] });
    await send(p, "Tell me the story of the orders");
    await p.getByRole("log").getByText("The beginning").waitFor();
    wire.cut();
    await p.getByText("Reconnecting").waitFor();
    await shot(p, "reconnecting");
    wire.mend();
    const turn = await answered(p, "Tell me the story of the orders");
    const text = await turn.locator(".prose").last().innerText();
    assert.match(text, /neither will I guess\.$/);
    assert.equal(text.match(/The beginning/g).length, 1);
    await p.getByText("Reconnecting").waitFor({ state: "hidden" });
    await p.done();
  } finally {
    await wire.stop();
  }
});
