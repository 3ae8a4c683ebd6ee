// Keyboard-only use: the command menu and the list of shortcuts.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { ask, close, open, phone, serve } from "./harness.js";
import { check } from "./look.js";

let server;
before(async () => (server = await serve()));
after(async () => {
  await server?.stop();
  await close();
});

const commands = async (p) => {
  await p.keyboard.press("Control+k");
  return p.getByRole("combobox", { name: "Command" });
};

test("the commands find an old conversation, a source and a theme", async () => {
  const p = await open(server.url);
  await ask(p, "How many orders are there?");
  await p.getByRole("link", { name: "New question", exact: true }).click();
  await ask(p, "Share of orders by status");
  let field = await commands(p);
  await field.pressSequentially("many orders");
  await p.getByRole("option", { name: /^How many orders are there/, selected: true }).waitFor();
  await p.keyboard.press("Enter");
  await p.getByRole("heading", { name: "How many orders are there?", level: 1 }).waitFor();
  field = await commands(p);
  await field.pressSequentially("dark");
  await p.keyboard.press("Enter");
  assert.equal(await p.evaluate(() => document.documentElement.dataset.theme), "dark");
  field = await commands(p);
  await check(p, "commands-open");
  await p.keyboard.press("ArrowUp"); // from the first to the last
  await p.getByRole("option", { name: /^Keyboard shortcuts/, selected: true }).waitFor();
  await p.keyboard.press("Enter");
  await p.getByRole("dialog", { name: "Keyboard shortcuts" }).waitFor();
  await check(p, "shortcuts");
  await p.keyboard.press("Escape");
  await p.getByRole("dialog").waitFor({ state: "hidden" });
  field = await commands(p);
  await field.fill("nothing is called so");
  await p.getByText("No matches.").waitFor();
  await check(p, "commands-none");
  await field.fill("coder");
  await p.getByRole("option", { name: /^Coder/, selected: true }).waitFor();
  await p.keyboard.press("Enter");
  await p.getByRole("heading", { name: "What should the coder do?" }).waitFor();
  await p.getByRole("button", { name: /^Coder/ }).waitFor();
  await p.done();
});

test("the command menu finds conversations by their present content", async () => {
  const p = await open(server.url);
  await p.getByRole("textbox", { name: "Your question" }).waitFor();
  let field = await commands(p);
  await field.fill("total of wares");
  await p.getByText("No matches.").waitFor();
  const asked = await fetch(`${server.url}/api/conversations`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ text: "Total of wares" }),
  });
  assert.equal(asked.status, 202);
  await p.keyboard.press("Escape");
  field = await commands(p);
  await field.fill("total of wares");
  await p.getByRole("option", { name: /^Total of wares/ }).waitFor();
  await p.done();
});

test("equal titles are distinguished by their time, and a question mark lists the keys", async () => {
  const p = await open(server.url);
  for (let i = 0; i < 2; i++) {
    await p.getByRole("link", { name: "New question", exact: true }).click();
    await ask(p, "Average order value");
  }
  const list = p.getByRole("navigation", { name: "Conversations" });
  await list
    .getByRole("link", { name: /^Average order value \d\d:\d\d$/ })
    .nth(1)
    .waitFor();
  await p.getByRole("button", { name: "Copy the answer" }).focus();
  await p.keyboard.press("?");
  await p.getByRole("dialog", { name: "Keyboard shortcuts" }).waitFor();
  await p.done();
});

test("the rows that an answer leaves out are one click away", async () => {
  for (const viewport of [undefined, phone]) {
    const p = await open(server.url, viewport && { viewport });
    await ask(p, "Revenue by month");
    const table = p.getByRole("log").getByRole("region", { name: "Table" });
    const all = table.getByRole("button", { name: "All 18 rows in the table" });
    await all.waitFor();
    assert.equal(await table.getByRole("row").count(), 13);
    await all.click();
    await p.waitForURL(/\/r\d+\?view=table$/);
    await p
      .getByRole("tabpanel")
      .getByText("5,783", { exact: false })
      .or(p.getByRole("tabpanel").getByText("May 2025"))
      .first()
      .waitFor();
    await p.done();
  }
});
