// The usage page: administrators view, filter and download the usage of their organisation; others are refused.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { after, before, test } from "node:test";
import { close, desktop, open, phone, serve } from "./harness.js";
import { clean, inBoth, reach } from "./look.js";

const keys = {
  ada: "key-of-ada-0123456789",
  bob: "key-of-bob-0123456789",
  "Grace Hopper-Murray": "key-of-grace-01234567",
};
let server;

const post = async (key, path, body) => {
  const res = await fetch(server.url + path, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  assert.equal(res.status, 200, await res.clone().text());
  return res.json();
};

before(async () => {
  const key = (user, roles = []) => ({ key: keys[user], org: "acme", user, roles });
  const { mkdtemp, writeFile } = await import("node:fs/promises");
  const { tmpdir } = await import("node:os");
  const path = await import("node:path");
  const file = path.join(await mkdtemp(path.join(tmpdir(), "footnote-web-")), "footnote.yaml");
  await writeFile(file, JSON.stringify({ api_keys: [key("ada", ["admin"]), key("bob"), key("Grace Hopper-Murray")] }));
  server = await serve({ args: ["demo", "--config", file] });
  const questions = {
    ada: ["How many orders are there?"],
    bob: ["revenue by category", "revenue by category", "Top five customers by revenue"],
    "Grace Hopper-Murray": ["orders by country", "average order value by month"],
  };
  for (const [user, texts] of Object.entries(questions))
    for (const text of texts)
      await post(keys[user], "/v1/chat/completions", { model: "analyst", messages: [{ role: "user", content: text }] });
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
  test(`administrators see who asked what, at ${width}`, async () => {
    const p = await open(server.url, { viewport, allow: [/401/] });
    await signIn(p, "ada");
    await p.getByRole("heading", { name: "What do you want to know?" }).waitFor();
    if (viewport === phone) {
      await reach(p, p.getByRole("button", { name: "Show the conversations" }), "Shift+Tab");
      await p.keyboard.press("Enter");
    }
    await reach(p, p.getByRole("button", { name: "ada", exact: true }), "Shift+Tab");
    await p.keyboard.press("Enter");
    await reach(p, p.getByRole("menuitem", { name: "Everyone's usage" }), "ArrowDown");
    await p.keyboard.press("Enter");
    await p.getByRole("heading", { name: "Usage", exact: true }).waitFor();
    assert.equal(new URL(p.url()).pathname, "/usage");
    const table = p.getByRole("table");
    await table.getByRole("row", { name: /^bob 3/ }).waitFor();
    await p.getByText("Top five customers by revenue").waitFor();
    await inBoth(p, "usage", width);
    await clean(p, `usage-${width}`);
    assert.equal(
      await p.evaluate(() => document.documentElement.scrollWidth > innerWidth),
      false,
      "the page is wider than the screen",
    );

    // By keyboard: one person, then everyone again.
    await reach(p, table.getByRole("button", { name: "bob" }));
    await p.keyboard.press("Enter");
    await p.getByText("orders by country").waitFor({ state: "detached" });
    assert.equal(await p.getByRole("combobox", { name: "Person" }).inputValue(), "bob");
    const asked = p.getByRole("listitem").filter({ hasText: "revenue by category" });
    await asked.nth(1).waitFor();
    assert.equal(await asked.count(), 2);
    await p.keyboard.press("Enter");
    await p.getByText("orders by country").waitFor();

    const [saved] = await Promise.all([p.waitForEvent("download"), p.getByRole("button", { name: "CSV" }).click()]);
    assert.match(saved.suggestedFilename(), /^usage-\d{4}-\d\d-\d\d-\d{4}-\d\d-\d\d\.csv$/);
    const lines = (await readFile(await saved.path(), "utf8")).trim().split("\n");
    assert.equal(lines.length, 4);
    assert.match(lines[1], /^\d{4}-\d\d-\d\d,bob,3,3,0,/);

    await p.getByRole("button", { name: "7 days" }).click();
    await table.getByRole("row", { name: /^Grace Hopper-Murray 2/ }).waitFor();
    await p.getByRole("button", { name: "Cost", exact: true }).click();
    await p.getByRole("list", { name: "Cost by day" }).waitFor();
    await p.goBack(); // to the previous page
    await p.getByRole("heading", { name: "What do you want to know?" }).waitFor();
    await p.done();
  });
}

// The page after three months of use in a company, with stubbed responses.
for (const [width, viewport] of Object.entries({ 1440: desktop, 390: phone })) {
  test(`many people and days, at ${width}`, async () => {
    const p = await open(server.url, { viewport, allow: [/401/] });
    await signIn(p, "ada");
    await p.getByRole("heading", { name: "What do you want to know?" }).waitFor();
    const names = [
      "ada",
      "bob",
      "Grace Hopper-Murray",
      "warehouse-night-shift-terminal-04@operations.example",
      "Łukasz",
      "דנה",
      "chen",
      "dan",
      "eve",
      "finn",
      "gina",
      "hal",
      "ines",
      "jo",
      "kim",
    ];
    const rows = [];
    for (let d = 0; d < 90; d++) {
      const at = new Date(Date.now() - d * 86_400_000);
      names.forEach((user, i) => {
        const questions = at.getUTCDay() % 6 === 0 ? 0 : (d * 7 + i * 5) % (16 - i);
        if (questions)
          rows.push({
            day: at.toISOString().slice(0, 10),
            user,
            questions,
            runs: questions,
            failed: (d + i) % 9 ? 0 : 1,
            tool_calls: 3 * questions,
            cache_hits: questions,
            input_tokens: 21_000 * questions,
            cached_tokens: 0,
            output_tokens: 700 * questions,
            cost_usd: 0.031 * questions,
            cost_is_upper_bound: i === 3,
          });
      });
    }
    await p.route("**/api/usage/people?*", (r) => {
      const q = new URL(r.request().url()).searchParams;
      return r.fulfill({
        json: { from: q.get("from"), to: q.get("to"), rows: rows.filter((x) => x.day >= q.get("from")) },
      });
    });
    await p.route("**/api/usage/questions?*", (r) => {
      const begin = new URL(r.request().url()).searchParams.get("before") ? 50 : 0;
      const questions = Array.from({ length: 50 }, (_, i) => ({
        run: `run_${begin + i}`,
        conversation: "conv_1",
        user: names[i % names.length],
        time: new Date(Date.now() - (begin + i) * 3_600_000).toISOString(),
        tokens: 21_700,
        cost_usd: 0.031,
        ms: 8400,
        ...(i % 7 === 3
          ? {}
          : {
              question:
                i % 5 === 1
                  ? `Compare ${"the revenue of each region with that of the year before, and ".repeat(5)}say why`
                  : "Which customers have not ordered since March?",
            }),
        outcome: i % 6 === 2 ? "failed" : i === 0 ? "running" : "finished",
        ...(i % 6 === 2 ? { code: "model_unavailable" } : {}),
      }));
      return r.fulfill({ json: { questions, ...(begin ? {} : { next: "run_49" }) } });
    });
    if (viewport === phone) await p.getByRole("button", { name: "Show the conversations" }).click();
    await p.getByRole("button", { name: "ada", exact: true }).click();
    await p.getByRole("menuitem", { name: "Everyone's usage" }).click();
    await p.getByRole("button", { name: "90 days" }).click();
    await p.getByText("model unavailable").first().waitFor();
    await inBoth(p, "usage-many", width);
    await p.getByRole("heading", { name: "Questions" }).scrollIntoViewIfNeeded();
    await inBoth(p, "usage-many-questions", width);
    assert.equal(
      await p.evaluate(() => document.documentElement.scrollWidth > innerWidth),
      false,
      "the page is wider than the screen",
    );
    await p.getByRole("button", { name: "Older" }).click();
    await p.getByRole("button", { name: "Older" }).waitFor({ state: "detached" });
    assert.equal(await p.getByText("model unavailable").count(), 16);
    await p.getByRole("button", { name: "All 15 people" }).click();
    await p.getByRole("button", { name: "kim" }).waitFor();
    await p.done();
  });
}

for (const [width, viewport] of Object.entries({ 1440: desktop, 390: phone })) {
  test(`people who are not administrators see only a refusal, at ${width}`, async () => {
    const p = await open(`${server.url}/usage`, { viewport, allow: [/401/] });
    const requests = [];
    p.on("request", (r) => requests.push(new URL(r.url()).pathname));
    await signIn(p, "bob");
    await p.getByRole("alert").getByText("Only administrators can see").waitFor();
    await inBoth(p, "usage-refused", width);
    const main = p.getByRole("main");
    for (const role of ["button", "combobox", "group", "table"])
      assert.equal(await main.getByRole(role).filter({ hasNotText: /^$/ }).count(), 0, `a ${role} on the page`);
    assert.equal(await p.getByRole("button", { name: "CSV" }).count(), 0);
    assert.equal(await p.getByText("ada", { exact: true }).count(), 0);
    assert.deepEqual(
      requests.filter((r) => r.startsWith("/api/usage/")),
      [],
    );
    if (viewport === phone) await p.getByRole("button", { name: "Show the conversations" }).click();
    await p.getByRole("button", { name: "bob", exact: true }).click();
    await p.getByRole("menuitem", { name: "Usage and settings" }).waitFor();
    assert.equal(await p.getByRole("menuitem", { name: "Everyone's usage" }).count(), 0);
    await p.done();
  });
}
