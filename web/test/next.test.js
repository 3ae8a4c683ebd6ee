// Questions that one click asks: below an answer, and in the text of one that declines.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { answered, ask, close, desktop, open, phone, serve } from "./harness.js";
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
