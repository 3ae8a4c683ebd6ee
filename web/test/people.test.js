// What needs a person: approvals, questions and @-mentions.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { after, before, test } from "node:test";
import { answered, close, desktop, open, phone, serve, serveModel, shot } from "./harness.js";
import { check } from "./look.js";

let server, model;
before(async () => ([server, model] = await Promise.all([serve(), serveModel()])));
after(async () => {
  await server?.stop();
  await model?.stop();
  await close();
});

const choose = async (page, assistant) => {
  await page.getByRole("button", { name: "Analyst" }).click();
  await page.getByRole("menuitemradio", { name: assistant }).click();
};

const send = async (page, question) => {
  await page.getByRole("textbox", { name: "Your question" }).fill(question);
  await page.getByRole("button", { name: "Send" }).click();
};

test("a change waits for approval, is declined, and is allowed from another tab", async () => {
  const p = await open(server.url);
  await choose(p, /^Coder/);
  const question = 'Replace "sales" by "revenue" in README.md';
  await send(p, question);
  const asks = p.getByRole("group", { name: "Approval" });
  await asks.waitFor();
  await asks.getByRole("table").waitFor(); // the change is shown, so the buttons no longer move
  await shot(p, "approval");
  await asks.getByRole("button", { name: "Decline" }).click();
  await asks.getByRole("button", { name: "Decline" }).click();
  await asks.waitFor({ state: "hidden" });
  await answered(p, question);
  await send(p, question);
  await asks.waitFor();
  const other = await open(server.url, { context: p.context() });
  let compare;
  const held = new Promise((resolve) => (compare = resolve));
  await other.route("**/workspace", async (r) => (await held, await r.continue()));
  await other.goto(p.url());
  const asksOther = other.getByRole("group", { name: "Approval" });
  const allow = asksOther.getByRole("button", { name: "Allow once" });
  await other.getByText("Comparing with the current file").waitFor();
  assert.ok(await asksOther.getByRole("button", { name: "Decline" }).isEnabled(), "it can always be declined");
  assert.ok(await allow.isDisabled(), "a change can be allowed before it is shown");
  compare();
  await allow.click();
  await asks.waitFor({ state: "hidden" });
  await answered(p, question);
  await p.getByRole("button", { name: "Files of the workspace" }).click();
  await p.getByRole("heading", { name: "Files", exact: true }).waitFor();
  await shot(p, "coder");
  await other.done();
  await p.done();
});

test("a question of the model is answered by a click, after a reload too", async () => {
  const p = await open(model.url);
  await choose(p, /^Local files/);
  await send(p, "An unclear question");
  await p.getByRole("form", { name: "A question to you" }).getByRole("button", { name: "2026" }).waitFor();
  await shot(p, "question");
  await p.reload();
  await p.getByRole("form", { name: "A question to you" }).getByRole("button", { name: "2026" }).click();
  const turn = await answered(p, "An unclear question");
  await turn.getByText("Then it is as you said").waitFor();
  await p.done();
});

test("a table is named with @, by keyboard", async () => {
  const p = await open(server.url);
  const field = p.getByRole("textbox", { name: "Your question" });
  await p
    .getByRole("button", { name: /shop|data/i })
    .first()
    .waitFor();
  await field.pressSequentially("How many @ord");
  await p.getByRole("option", { name: /^order_items/ }).waitFor();
  await p.keyboard.press("ArrowDown");
  await p.getByRole("option", { name: /^orders/, selected: true }).waitFor();
  await shot(p, "mention");
  await p.keyboard.press("Enter");
  assert.equal(await field.inputValue(), "How many orders ");
  await p.getByRole("button", { name: "Remove orders" }).waitFor();
  await field.pressSequentially("are there?");
  await p.keyboard.press("Enter");
  const turn = await answered(p, "How many orders are there?");
  await turn.getByText("846").first().waitFor();
  const log = await (await fetch(`${server.url}/api/conversations/${p.url().split("/").pop()}/events`)).text();
  assert.match(log, /The user means this table: shop\.orders\./);
  await p.done();
});

test("the cost is shown below the answer, beside the composer and in the settings", async () => {
  const p = await open(model.url);
  await send(p, "quick, please");
  const turn = await answered(p, "quick, please");
  await turn.getByText(/tokens, counting as [\d,]+ · \$0\.\d+/).waitFor();
  await p
    .getByTitle("The cost of this conversation and your remaining budget")
    .getByText(/^\$0\.\d+/)
    .waitFor();
  await p.getByRole("button", { name: /machine/ }).click();
  await p.getByRole("menuitem", { name: "Usage and settings" }).click();
  const dialog = p.getByRole("dialog", { name: "Usage and settings" });
  await dialog.getByText("Tokens used").waitFor();
  await dialog.getByRole("list", { name: "Tokens by day" }).waitFor();
  await shot(p, "usage");
  await p.done();
});

test("an export opens without a server, with its footnotes, and sends no request", async () => {
  const p = await open(server.url);
  await send(p, "Revenue by month");
  await answered(p, "Revenue by month");
  await p.getByRole("button", { name: "This conversation" }).click();
  const [download] = await Promise.all([
    p.waitForEvent("download"),
    p.getByRole("menuitem", { name: /^Export/ }).click(),
  ]);
  assert.match(download.suggestedFilename(), /^[a-z-]+\.html$/);
  const copy = await p.context().newPage();
  const asked = [];
  copy.on("request", (r) => asked.push(r.url()));
  await copy.setContent(await readFile(await download.path(), "utf8"));
  await copy.getByText("Revenue by month was highest in").first().waitFor();
  await copy.getByText("SELECT strftime").first().waitFor();
  assert.deepEqual(asked, []);
  assert.equal(await copy.locator("script").count(), 0);
  for (const [width, viewport] of Object.entries({ 1440: desktop, 390: phone })) {
    await copy.setViewportSize(viewport);
    await check(copy, `export-${width}`);
    assert.equal(await copy.evaluate(() => document.documentElement.scrollWidth - innerWidth), 0);
  }
  await copy.close();
  await p.done();
});

test("a table is downloaded as a workbook", async () => {
  const p = await open(server.url);
  await send(p, "Revenue by month");
  await answered(p, "Revenue by month");
  await p.getByRole("button", { name: "Download" }).click();
  const [download] = await Promise.all([
    p.waitForEvent("download"),
    p.getByRole("menuitem", { name: "Excel (XLSX)" }).click(),
  ]);
  assert.match(download.suggestedFilename(), /^[a-z-]+\.xlsx$/);
  const bytes = await readFile(await download.path());
  assert.equal(bytes.subarray(0, 2).toString(), "PK");
  await p.done();
});
