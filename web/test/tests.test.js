// The page with the tests of answers: administrators start a run and see what differs from the one before.
import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, before, test } from "node:test";
import { close, desktop, open, phone, serve } from "./harness.js";
import { clean, inBoth } from "./look.js";

const keys = { ada: "key-of-ada-0123456789", bob: "key-of-bob-0123456789" };
let server;

before(async () => {
  const file = path.join(await mkdtemp(path.join(tmpdir(), "footnote-web-")), "footnote.yaml");
  const key = (user, roles = []) => ({ key: keys[user], org: "acme", user, roles });
  await writeFile(file, JSON.stringify({ api_keys: [key("ada", ["admin"]), key("bob")] }));
  server = await serve({ args: ["demo", "--config", file] });
});
after(async () => {
  await server?.stop();
  await close();
});

const signIn = async (page, user) => {
  await page.getByLabel("Key").fill(keys[user]);
  await page.keyboard.press("Enter");
};

test("an administrator runs the tests and sees what differs", async () => {
  const p = await open(server.url, { viewport: desktop, allow: [/401/] });
  await signIn(p, "ada");
  await p.getByRole("button", { name: "ada", exact: true }).click();
  await p.getByRole("menuitem", { name: "Tests of answers" }).click();
  const suite = p.getByRole("region", { name: "tests" });
  await suite.getByText("They have not run yet.").waitFor();
  const run = suite.getByRole("button", { name: "Run the tests" });
  const rows = suite.getByRole("table", { name: "Runs" }).locator("tbody tr");
  await run.click();
  await rows.first().getByText("20 of 20").waitFor();
  // Without this query, its tests fail.
  await rm(path.join(server.folder, "context/verified/net_revenue_in_month.sql"));
  await run.click();
  await rows.nth(1).waitFor();
  const differences = suite.getByRole("table", { name: "Differences" });
  await differences.getByText("net revenue of a month").waitFor();
  await suite.getByRole("list", { name: "Not passed" }).getByText("net revenue in German").waitFor();
  for (const [width, viewport] of Object.entries({ 1440: desktop, 390: phone })) {
    await p.setViewportSize(viewport);
    await inBoth(p, "tests", width);
    await clean(p, `tests-${width}`);
    assert.equal(
      await p.evaluate(() => document.documentElement.scrollWidth > innerWidth),
      false,
      "the page is wider than the screen",
    );
  }
  await p.done();
});

test("others are refused", async () => {
  const p = await open(`${server.url}/tests`, { allow: [/401/] });
  await signIn(p, "bob");
  await p.getByText("Only administrators can see the tests and run them.").waitFor();
  await p.done();
});
