// The page with the answers to check: administrators see them with question, words and SQL; others are refused.
import assert from "node:assert/strict";
import { mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, before, test } from "node:test";
import { close, desktop, open, phone, serve } from "./harness.js";
import { clean, inBoth, reach } from "./look.js";

const keys = { ada: "key-of-ada-0123456789", bob: "key-of-bob-0123456789", cem: "key-of-cem-0123456789" };
let server;

const post = async (address, body) => {
  const res = await fetch(server.url + address, {
    method: "POST",
    headers: { authorization: `Bearer ${keys.bob}`, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  assert.ok(res.ok, await res.clone().text());
  return res;
};

/** Lets bob ask a question and rate its answer as bad. */
const complain = async (text, words) => {
  const { conversation } = await (await post("/api/conversations", { text })).json();
  for (let i = 0; i < 200; i++) {
    const res = await fetch(`${server.url}/api/conversations/${conversation}/events`, {
      headers: { authorization: `Bearer ${keys.bob}` },
    });
    const events = (await res.text())
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    if (events.some((e) => e.kind === "run_finished")) {
      const { seq } = events.find((e) => e.kind === "answered");
      await post("/api/feedback", { conversation, seq, good: false, words });
      return;
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`no answer to ${text}`);
};

before(async () => {
  const file = path.join(await mkdtemp(path.join(tmpdir(), "footnote-web-")), "footnote.yaml");
  const key = (user, roles = []) => ({ key: keys[user], org: "acme", user, roles });
  await writeFile(file, JSON.stringify({ api_keys: [key("ada", ["admin"]), key("bob"), key("cem", ["admin"])] }));
  server = await serve({ args: ["demo", "--config", file] });
  await complain("How many orders are there?", "The cancelled ones do not count.");
  await complain("revenue by category", "");
});
after(async () => {
  await server?.stop();
  await close();
});

const signIn = async (page, user) => {
  await page.getByLabel("Key").fill(keys[user]);
  await page.keyboard.press("Enter");
};

for (const [width, viewport] of Object.entries({ 1440: desktop, 390: phone })) {
  test(`administrators see what was rated as bad, at ${width}`, async () => {
    const p = await open(server.url, { viewport, allow: [/401/] });
    await signIn(p, "ada");
    await p.getByRole("heading", { name: "What do you want to know?" }).waitFor();
    if (viewport === phone) {
      await reach(p, p.getByRole("button", { name: "Show the conversations" }), "Shift+Tab");
      await p.keyboard.press("Enter");
    }
    await reach(p, p.getByRole("button", { name: "ada", exact: true }), "Shift+Tab");
    await p.keyboard.press("Enter");
    await reach(p, p.getByRole("menuitem", { name: "Answers to check" }), "ArrowDown");
    await p.keyboard.press("Enter");
    await p.getByRole("heading", { name: "Answers to check", exact: true }).waitFor();
    assert.equal(new URL(p.url()).pathname, "/inbox");
    const items = p.getByRole("list", { name: "Answers to check" }).locator("> li");
    await items.nth(1).waitFor();
    assert.equal(await items.count(), 2);
    await items.first().getByRole("heading", { name: "revenue by category" }).waitFor(); // the newest
    await items.nth(1).getByText("The cancelled ones do not count.").waitFor();
    await reach(p, items.nth(1).getByText("The query behind it"));
    await p.keyboard.press("Enter");
    await items.nth(1).locator("pre", { hasText: /count/i }).waitFor();
    await inBoth(p, "inbox", width);
    await clean(p, `inbox-${width}`);
    assert.equal(
      await p.evaluate(() => document.documentElement.scrollWidth > innerWidth),
      false,
      "the page is wider than the screen",
    );
    await p.done();
  });
}

test("others are refused", async () => {
  const p = await open(`${server.url}/inbox`, { allow: [/401/] });
  await signIn(p, "bob");
  await p.getByText("Only administrators can see the answers that others got.").waitFor();
  assert.equal(await p.getByRole("main").getByRole("listitem").count(), 0);
  await p.getByRole("button", { name: "bob", exact: true }).click();
  await p.getByRole("menuitem", { name: "Usage and settings" }).waitFor();
  assert.equal(await p.getByRole("menuitem", { name: "Answers to check" }).count(), 0);
  await p.done();
});

test("a corrected query becomes a verified one, once a second administrator approves it", async () => {
  const p = await open(`${server.url}/inbox`, { viewport: desktop, allow: [/401/, /400/] });
  await signIn(p, "ada");
  const item = p.getByRole("list", { name: "Answers to check" }).locator("> li").nth(1);
  await item.getByRole("button", { name: "Correct the query" }).click();
  const form = p.getByRole("form", { name: "Correct the query" });
  await form.getByLabel("Query on shop").fill("SELECT count(*) AS orders FROM order");
  await form.getByRole("button", { name: "Run" }).click();
  await form.getByRole("alert").waitFor();
  assert.equal(await form.getByRole("button", { name: "Suggest as verified" }).isEnabled(), false);
  await form.getByLabel("Query on shop").fill("SELECT count(*) AS orders FROM orders WHERE status <> 'cancelled'");
  await form.getByLabel("Other wordings").fill("Number of orders that count");
  await form.getByRole("button", { name: "Run" }).click();
  await form.getByRole("table", { name: "Rows of the corrected query" }).waitFor();
  await form.getByText("Its test fails with the answer that was given").waitFor();
  for (const [width, viewport] of Object.entries({ 1440: desktop, 390: phone })) {
    await p.setViewportSize(viewport);
    await form.scrollIntoViewIfNeeded();
    await inBoth(p, "correct", width);
    await clean(p, `correct-${width}`);
  }
  await p.setViewportSize(desktop);
  await form.getByRole("button", { name: "Suggest as verified" }).click();
  const proposals = p.getByRole("region", { name: "Proposals" });
  await proposals.getByText("another administrator must decide about it").waitFor();
  assert.equal(await proposals.getByRole("button", { name: "Approve" }).count(), 0);
  await p.done();

  const c = await open(`${server.url}/inbox`, { viewport: desktop, allow: [/401/] });
  await signIn(c, "cem");
  const theirs = c.getByRole("region", { name: "Proposals" });
  await theirs.getByRole("button", { name: "Approve" }).waitFor();
  for (const [width, viewport] of Object.entries({ 1440: desktop, 390: phone })) {
    await c.setViewportSize(viewport);
    await inBoth(c, "proposals", width);
    await clean(c, `proposals-${width}`);
  }
  await theirs.getByLabel("Reason").fill("Agreed with sales.");
  await theirs.getByRole("button", { name: "Approve" }).click();
  await theirs.getByText("Approved by cem").waitFor();
  assert.equal(await theirs.getByText("Download the patch").count(), 0);
  await c.goto(server.url);
  await c.getByRole("textbox", { name: /question/i }).fill("number of orders that count");
  await c.keyboard.press("Enter");
  await c
    .getByText(/Verified by ada/i)
    .first()
    .waitFor();
  await c.done();
});
