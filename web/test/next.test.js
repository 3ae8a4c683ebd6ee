// Questions that one click asks: below an answer, and in the text of one that declines.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { answered, ask, close, desktop, open, phone, serve } from "./harness.js";
import { chart } from "./chart.js";
import { inBoth } from "./look.js";

let server;
before(async () => (server = await serve()));
after(async () => {
  await server?.stop();
  await close();
});

for (const [width, viewport] of Object.entries({ 1440: desktop, 390: phone })) {
  test(`an answer and a decline offer questions that one click asks, at ${width}`, async () => {
    const p = await open(server.url, { viewport });
    await ask(p, "Top five customers by revenue");
    const next = p.getByRole("group", { name: "Next questions" });
    await next.getByRole("button").nth(2).waitFor();
    const offered = await next.getByRole("button").allTextContents();
    assert.ok(!offered.includes("Top five customers by revenue"), "it offers what was asked");
    await next.getByRole("button").first().scrollIntoViewIfNeeded();
    await inBoth(p, "next", width);
    await next.getByRole("button").first().click();
    await answered(p, offered[0]);
    // The list of a decline is its offer, so that nothing is listed twice.
    await ask(p, "Revenue by region");
    const decline = p.getByRole("article").last();
    const listed = decline.getByRole("listitem").getByRole("button");
    assert.equal(await listed.count(), 3);
    assert.equal(await next.count(), 0);
    await listed.first().scrollIntoViewIfNeeded();
    await inBoth(p, "next-decline", width);
    const question = await listed.first().textContent();
    await listed.first().click();
    await answered(p, question);
    await p.done();
  });
}

test("a decline about a local file shows no chart, and offers what its columns can answer", async () => {
  const p = await open(server.url);
  await p.getByRole("button", { name: "Analyst" }).click();
  await p.getByRole("menuitemradio", { name: /^Local files/ }).click();
  await p.getByRole("button", { name: "Total revenue by month" }).click();
  await answered(p, "Total revenue by month");
  await p.goto(server.url);
  await p.getByRole("button", { name: /^(Analyst|Local files)/ }).click();
  await p.getByRole("menuitemradio", { name: /^Local files/ }).click();
  await p.getByText("72 rows").first().waitFor();
  const decline = "Which weather suits the frogs of Purple?";
  await ask(p, decline);
  await p.getByText("I know these columns").waitFor();
  await p.getByText("The chart, table and SQL of an answer appear here.").waitFor();
  const next = p.getByRole("group", { name: "Next questions" });
  const offered = await next.getByRole("button").allTextContents();
  assert.equal(offered.length, 3);
  assert.ok(
    offered.every((o) => /revenue|units|rows/.test(o)),
    offered.join(),
  );
  await inBoth(p, "next-local", 1440);
  await next.getByRole("button").first().click();
  await answered(p, offered[0]);
  await p.getByText("From the rows in this browser:").waitFor();
  assert.ok(!(await next.getByRole("button").allTextContents()).includes(offered[0]), "it offers what was asked");
  await p.done();
});

test("a decline of the coder offers tasks", async () => {
  const p = await open(server.url);
  await p.getByRole("button", { name: "Analyst" }).click();
  await p.getByRole("menuitemradio", { name: /^Coder/ }).click();
  await ask(p, "Sing me a song");
  const next = p.getByRole("group", { name: "Next questions" });
  const task = await next.getByRole("button").first().textContent();
  await inBoth(p, "next-coder", 1440);
  await next.getByRole("button").first().click();
  await p.getByRole("article", { name: `Question: ${task}` }).waitFor();
  await p.done();
});

test("a decline in the chat of a chart offers requests, which know the chart", async () => {
  const p = await chart(server, "EURUSD");
  await ask(p, "Sing me a song");
  const listed = p.getByRole("article").last().getByRole("listitem").getByRole("button");
  assert.deepEqual(await listed.allTextContents(), [
    "Draw support and resistance",
    "Draw a fib from the last high to the last low",
    "What's coming up today?",
  ]);
  assert.equal(await p.getByRole("group", { name: "Next questions" }).count(), 0);
  await inBoth(p, "next-chart", 1440);
  const sent = p.waitForRequest((r) => r.method() === "POST" && /\/turns?$/.test(r.url()));
  await listed.first().click();
  assert.match((await sent).postData(), /"symbol":"EURUSD"/);
  await answered(p, "Draw support and resistance");
  await p.done();
});
