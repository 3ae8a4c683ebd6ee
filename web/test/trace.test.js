// The trace: every event, its cost, and the downloaded file.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { after, before, test } from "node:test";
import { ask, close, open, serve, serveModel, shot } from "./harness.js";

let server, model;
before(async () => ([server, model] = await Promise.all([serve(), serveModel()])));
after(async () => {
  await server?.stop();
  await model?.stop();
  await close();
});

const openTrace = async (page) => {
  await page.getByRole("button", { name: "This conversation" }).click();
  await page.getByRole("menuitem", { name: /^Trace/ }).click();
  await page.getByText("run finished").waitFor();
};

const idOf = (page) => /\/c\/([^/?]+)/.exec(page.url())[1];

test("the trace lists, unfolds and filters every event, and is downloaded as a file", async () => {
  const p = await open(model.url);
  await ask(p, "A quick question");
  await openTrace(p);
  const stored = await (await fetch(`${model.url}/api/conversations/${idOf(p)}/events`)).text();
  const events = stored
    .trim()
    .split("\n")
    .map((l) => JSON.parse(l));
  const list = p.getByRole("list", { name: "Events" });
  await p.getByText(new RegExp(`^${events.length} events · .* tokens in, .* out`)).waitFor();
  assert.equal(await list.getByRole("listitem").count(), events.length);
  await list
    .getByRole("button", { name: /assistant message.* in .* out.*\$/ })
    .first()
    .waitFor();
  await shot(p, "trace-model");

  // By keyboard: down to the second, expand, up to the first, to the end.
  await list.getByRole("button").first().focus();
  await p.keyboard.press("ArrowDown");
  await p.keyboard.press("Enter");
  await p.getByRole("region", { name: "Event 2" }).waitFor();
  await p.keyboard.press("End");
  await p.waitForFunction((n) => document.activeElement?.textContent?.startsWith(String(n)), events.length);
  await p.keyboard.press("Home");
  await p.waitForFunction(() => document.activeElement?.textContent?.startsWith("1+"));
  await shot(p, "trace-open");

  await p.getByRole("searchbox", { name: "Filter events" }).fill("SELECT count");
  const calls = events.filter((e) => JSON.stringify(e.body).includes("SELECT count")).length;
  await p.getByText(`${calls} of ${events.length} events`).waitFor();
  assert.equal(await list.getByRole("listitem").count(), calls);
  await p.getByRole("searchbox", { name: "Filter events" }).fill("");
  await p.getByRole("combobox", { name: "Kind of events" }).selectOption("Tools");
  await list.getByRole("button", { name: /tool result.*run_query · r1, 1 row/ }).waitFor();
  assert.equal(await list.getByRole("listitem").count(), 1);

  const saved = p.waitForEvent("download");
  await p.getByRole("button", { name: "JSON lines" }).click();
  const file = await readFile(await (await saved).path(), "utf8");
  assert.match((await saved).suggestedFilename(), /\.jsonl$/);
  assert.deepEqual(
    file
      .trim()
      .split("\n")
      .map((l) => JSON.parse(l).seq),
    events.map((e) => e.seq),
  );
  await p.done();
});

test("of a thousand events only the visible ones are rendered, and new ones appear by themselves", async () => {
  const p = await open(server.url);
  await ask(p, "Top five customers by revenue");
  const id = idOf(p);
  const answer = (await (await fetch(`${server.url}/api/conversations/${id}/events`)).text())
    .split("\n")
    .filter(Boolean)
    .map((l) => JSON.parse(l))
    .find((e) => e.kind === "answered");
  const rate = async (n) => {
    for (let i = 0; i < n; i++) {
      const res = await fetch(`${server.url}/api/feedback`, {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify({ conversation: id, seq: answer.seq, good: i % 2 === 0, words: `word ${i}` }),
      });
      assert.equal(res.status, 204);
    }
  };
  await rate(1000);
  await openTrace(p);
  const list = p.getByRole("list", { name: "Events" });
  const total = Number(/(\d+)/.exec((await p.getByText(/^1,?\d+ events/).innerText()).replace(",", ""))[1]);
  assert.ok(total > 1000);
  assert.ok((await list.getByRole("listitem").count()) < 80);
  await list.getByRole("button").first().focus();
  await p.keyboard.press("End");
  await list.getByRole("button", { name: /word 999/ }).waitFor();
  assert.ok((await list.getByRole("listitem").count()) < 80);
  await shot(p, "trace-thousand");
  await rate(3);
  await p.getByText(new RegExp(`^${(total + 3).toLocaleString("en-US")} events`)).waitFor();
  await p.done();
});
