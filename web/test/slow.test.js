// A query that takes long, and a model that does not answer.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { ask, close, desktop, open, phone, serve, serveModel, shot } from "./harness.js";
import { inBoth } from "./look.js";

let server;
before(async () => (server = await serveModel()));
after(async () => {
  await server?.stop();
  await close();
});

for (const [width, viewport] of Object.entries({ 1440: desktop, 390: phone })) {
  test(`a long query shows its statement, its time and its limit, at ${width}`, async () => {
    const p = await open(server.url, { viewport });
    await p.getByRole("textbox", { name: "Your question" }).fill("Count the endless");
    await p.keyboard.press("Enter");
    await p
      .getByRole("button", { name: /^Running a query/ })
      .getByText(/^\d+ s of at most 30 s$/)
      .waitFor();
    await p.getByRole("article").getByText("WITH RECURSIVE").waitFor();
    await inBoth(p, "slow", width);
    await p.getByRole("button", { name: "Stop" }).click();
    await p.getByText("You stopped this answer.").waitFor();
    await p.done();
  });
}

test("an edited statement that takes long shows its time and its limit", async () => {
  const p = await open(server.url);
  await ask(p, "a quick one");
  await p.getByRole("button", { name: "SQL of result 1" }).click();
  await p.getByRole("textbox", { name: "SQL" }).click();
  await p.keyboard.press("ControlOrMeta+a");
  await p.keyboard.insertText("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n");
  await p.keyboard.press("ControlOrMeta+Enter");
  await p.getByText("changed, running").waitFor();
  await p
    .getByRole("tabpanel")
    .getByText(/^\d+ s of at most 30 s$/)
    .waitFor();
  await shot(p, "slow-sql");
  await p.getByRole("button", { name: "Stop" }).click();
  await p.getByRole("alert").getByText("You stopped the query.").waitFor();
  await p.done();
});

test("a model that refuses connections is named with its address and what to do", async () => {
  const refused = await serve({
    env: { ANTHROPIC_BASE_URL: "http://127.0.0.1:1", ANTHROPIC_API_KEY: "test-key-of-nobody", FOOTNOTE_MODEL: "m" },
  });
  try {
    const p = await open(refused.url);
    const busy = p.getByText("The model is busy");
    await p.getByRole("textbox", { name: "Your question" }).fill("How many orders are there?");
    await p.keyboard.press("Enter");
    await p.getByText("The model is not available; trying again").waitFor();
    assert.equal(await busy.count(), 0);
    await p
      .getByRole("alert")
      .getByText("The model's API at 127.0.0.1:1 cannot be reached. Check the network, the server, and")
      .waitFor();
    await inBoth(p, "model-refused", "1440");
    await p.done();
  } finally {
    await refused.stop();
  }
});
