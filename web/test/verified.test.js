// The badge of a verified query: with the answer, in the footnote of a number, and beside the call.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { ask, close, desktop, open, phone, serve } from "./harness.js";
import { inBoth } from "./look.js";

let server;
before(async () => (server = await serve()));
after(async () => {
  await server?.stop();
  await close();
});

for (const [width, viewport] of Object.entries({ 1440: desktop, 390: phone })) {
  test(`an answer says who verified its query, and one to another question does not, at ${width}`, async () => {
    const p = await open(server.url, { viewport });
    await ask(p, "net revenue in march 2026?");
    const answer = p.getByRole("article").last();
    await answer.getByText("“Net revenue in March 2026”: verified by Ann on 2 November 2026").waitFor();
    await inBoth(p, "verified", width);
    await answer.locator("button.note").first().click();
    await p.getByRole("dialog").getByText("verified by Ann on 2 November 2026").waitFor();
    await p.keyboard.press("Escape");
    await ask(p, "revenue in march 2026");
    assert.equal(await p.getByRole("article").last().getByText("verified by").count(), 0);
    await p.done();
  });
}
