// What is copied from an answer, and the list of its footnotes.
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
  test(`a copied answer keeps its footnotes, and their list opens on request, at ${width}`, async () => {
    const p = await open(server.url, { viewport, permissions: ["clipboard-read", "clipboard-write"] });
    await ask(p, "Revenue by month");
    await p.getByRole("button", { name: "Copy the answer" }).click();
    await p.getByRole("button", { name: "Copied" }).waitFor();
    const text = await p.evaluate(() => navigator.clipboard.readText());
    assert.match(text, /^Revenue by month was highest in October 2026 \[1\] with \*\*€16,682\.20\*\* \[2\]/);
    assert.match(text, /\n\[2\] €16,682\.20: revenue_eur, row 18 of result 1\n/);
    assert.match(text, /\n\nResult 1 \(shop\):\nSELECT /);
    assert.doesNotMatch(text, /Offline planner/);
    const notes = p.getByRole("group", { name: "Footnotes" });
    assert.equal(await notes.getByRole("listitem").count(), 0);
    await notes.getByRole("button", { name: /^\d+ footnotes$/ }).click();
    const count = Number.parseInt(await notes.getByRole("button", { name: /^\d+ footnotes$/ }).innerText());
    assert.equal(await notes.getByRole("listitem").count(), count);
    // Every number of the table is marked, listed below the text, and listed in the page.
    assert.equal(text.match(/^\[\d+\] /gm).length, count);
    const row = text.match(/^\| October 2026 \[1\] \| €16,682\.20 \[2\] \|$/m);
    assert.ok(row, text);
    await inBoth(p, "sources", width);
    await notes.getByRole("button", { name: /^2 €16,682.20/ }).click();
    await p.getByRole("dialog", { name: "Footnote of €16,682.20" }).waitFor();
    await p.done();
  });
}

test("columns of the same name keep their footnotes", async () => {
  const p = await open(server.url);
  await ask(p, "SELECT count(*) AS n, sum(total) AS n FROM orders");
  await p.getByRole("button", { name: /^€?179,?170.4/ }).click();
  const popover = p.getByRole("dialog", { name: /^Footnote of €?179,?170.4/ });
  await popover.getByText("is n_2 in row 1 of result 1").waitFor();
  assert.deepEqual(await popover.locator("[aria-current]").allTextContents(), ["179,170.4"]);
  await p.done();
});
