// Links in answers: they show their host, and ask before they open.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { ask, close, open, phone, desktop, serveModel, shot } from "./harness.js";

const axe = await readFile(path.join(import.meta.dirname, "node_modules/axe-core/axe.min.js"), "utf8");

let server;
before(async () => {
  server = await serveModel({ scenario: "links.yaml" });
});
after(async () => {
  await close();
  await server?.stop();
});

for (const [viewport, theme] of [
  [desktop, "light"],
  [phone, "dark"],
]) {
  test(`a link shows its host and asks before it opens, ${theme}`, async () => {
    const page = await open(server.url, { viewport, theme });
    const opened = [];
    await page.context().route(/example|evil|far|pictures/, (r) => {
      opened.push(r.request().url());
      return r.fulfill({ body: "there" });
    });
    await ask(page, "Give me links");
    const turn = page.getByRole("article", { name: "Question: Give me links" });
    const hosts = await turn.locator(".link-host").allInnerTexts();
    assert.deepEqual(hosts.slice(0, 5), [
      "reports.example.org",
      "evil.test",
      "xn--80ak6aa92e.com",
      "plain.example.net",
      "someone@example.org",
    ]);
    assert.match(hosts[5], /^….{40}$/);
    assert.match(hosts[5], /\.belongs\.to\.evil\.test$/);
    assert.equal(await turn.getByRole("link").count(), 0, "an answer has a link that opens by itself");
    assert.equal(await turn.getByRole("img").count(), 0, "a picture was shown");
    assert.match(await turn.innerText(), /A script, data, a path, a host, by name\./);
    await shot(page, `links-${theme}`);

    // By keyboard: the dialog shows the full address, and Escape closes it.
    const report = turn.getByRole("button", { name: /^the report/ });
    await report.focus();
    await page.keyboard.press("Enter");
    const dialog = page.getByRole("dialog", { name: "Leave Footnote?" });
    await dialog.getByText("https://reports.example.org/2025?d=42", { exact: true }).waitFor();
    await shot(page, `links-asks-${theme}`);
    await page.evaluate(axe);
    const faults = await page.evaluate(async () =>
      (await globalThis.axe.run("dialog[open]")).violations.map((v) => `${v.id}: ${v.nodes[0].html}`),
    );
    assert.deepEqual(faults, []);
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "hidden" });
    assert.ok(await report.evaluate((el) => el === document.activeElement), "the focus did not come back");
    assert.deepEqual(opened, []);

    await turn.getByRole("button", { name: /^your bank/ }).click();
    await dialog.getByText("The text before “@” is not part of the host and was removed.").waitFor();
    await dialog.getByText("https://evil.test/login", { exact: true }).waitFor();
    await page.keyboard.press("Escape");
    for (const way of [{ button: "middle" }, { modifiers: ["Control"] }, { modifiers: ["Shift"] }]) {
      await report.click(way);
      await page.keyboard.press("Escape");
    }
    assert.deepEqual(opened, [], "a link opened without being asked about");

    await report.click();
    const there = page.context().waitForEvent("page");
    await dialog.getByRole("link", { name: "Open the site" }).click();
    const other = await there;
    await other.waitForURL("https://reports.example.org/2025?d=42");
    assert.equal(await other.evaluate(() => `${window.opener} ${document.referrer}`), "null ");
    await dialog.waitFor({ state: "hidden" });
    await page.done();
  });
}
