// The page with the answers to check: administrators see them with question, words and SQL; others are refused.
import assert from "node:assert/strict";
import { mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, before, test } from "node:test";
import { close, desktop, open, phone, serve } from "./harness.js";
import { clean, inBoth, reach } from "./look.js";

const keys = { ada: "key-of-ada-0123456789", bob: "key-of-bob-0123456789" };
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
  await writeFile(file, JSON.stringify({ api_keys: [key("ada", ["admin"]), key("bob")] }));
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
