import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { answered, ask, close, open, phone, serve, shot } from "./harness.js";
import { check } from "./look.js";

let server;
before(async () => (server = await serve()));
after(async () => {
  await server?.stop();
  await close();
});

test("conversations are found, renamed and deleted", async () => {
  const p = await open(server.url);
  await ask(p, "How many orders are there?");
  await p.getByRole("link", { name: "New question", exact: true }).click();
  await ask(p, "Share of orders by status");
  const list = p.getByRole("navigation", { name: "Conversations" });
  await list.getByRole("link", { name: "How many orders are there?" }).waitFor();
  await list.getByRole("searchbox").fill("share of");
  await list.getByRole("link", { name: "How many orders are there?" }).waitFor({ state: "hidden" });
  // A search also finds what an answer says. 846 is in no title.
  await list.getByRole("searchbox").fill("846");
  await list.getByRole("link", { name: "Share of orders by status" }).waitFor({ state: "hidden" });
  const found = list.getByRole("link", { name: "How many orders are there?" });
  assert.match(await found.innerText(), /846/);
  await shot(p, "search");
  await list.getByRole("searchbox").fill("");
  await list.getByRole("link", { name: "Share of orders by status" }).waitFor();
  const row = list.getByRole("link", { name: "How many orders are there?" });
  await row.hover();
  await list.getByRole("button", { name: "Actions for How many orders are there?" }).click();
  await p.getByRole("menuitem", { name: "Rename" }).click();
  await p.getByRole("textbox", { name: "Title" }).fill("Counting orders");
  await p.keyboard.press("Enter");
  const renamed = list.getByRole("link", { name: "Counting orders" });
  await renamed.click();
  await p.getByRole("heading", { name: "Counting orders" }).waitFor();
  await p.getByRole("article", { name: "Question: How many orders are there?" }).waitFor();
  await p.getByRole("button", { name: "This conversation" }).click();
  await p.getByRole("menuitem", { name: "Delete" }).click();
  await shot(p, "delete");
  await p.getByRole("button", { name: "Delete", exact: true }).click();
  await renamed.waitFor({ state: "hidden" });
  await p.getByRole("heading", { name: "What do you want to know?" }).waitFor();
  await p.done();
});

test("a question is edited and answered again", async () => {
  const p = await open(server.url);
  await ask(p, "How many orders are there?");
  await p.getByRole("heading", { name: "How many orders are there?" }).last().hover();
  await p.getByRole("button", { name: "Edit this question" }).click();
  await p.getByRole("textbox", { name: "Edit the question" }).fill("How many customers are there?");
  await p.keyboard.press("Enter");
  const turn = await answered(p, "How many customers are there?");
  await turn.getByText("140").first().waitFor();
  assert.equal(await p.getByRole("article").count(), 1);
  await turn.getByRole("button", { name: "Answer again" }).click();
  await p.waitForFunction(() => document.querySelectorAll("article").length === 1);
  await answered(p, "How many customers are there?");
  assert.equal(await p.getByRole("article").count(), 1);
  await p.done();
});

test("feedback is stored with its reason", async () => {
  const p = await open(server.url);
  await ask(p, "How many orders are there?");
  await p.getByRole("button", { name: "Bad answer" }).click();
  await p.getByRole("textbox", { name: "What was wrong with it?" }).fill("It counts cancelled ones.");
  await p.getByRole("dialog", { name: "Why?" }).getByRole("button", { name: "Send" }).click();
  await p.reload();
  await p.locator('button[aria-label="Bad answer"][aria-pressed="true"]').waitFor();
  await p.done();
});

test("a URL opens a result, and Back returns", async () => {
  const p = await open(server.url);
  await ask(p, "Revenue by month");
  await p.getByRole("tab", { name: "SQL" }).click();
  await p.waitForURL(/\/c\/[^/]+\/r\d+\?view=sql$/);
  const other = await open(p.url(), { context: p.context() });
  await other.getByRole("tab", { name: "SQL", selected: true }).waitFor();
  await other.getByRole("textbox", { name: "SQL" }).waitFor();
  await other.done();
  await p.goto(`${server.url}/c/conv_NOTTHERE`);
  await p.getByRole("heading", { name: "Conversation not found" }).waitFor();
  await p.goBack();
  await p.getByRole("tab", { name: "SQL", selected: true }).waitFor();
  assert.deepEqual(
    p.faults().filter((f) => !/404/.test(f)),
    [],
  );
  await p.context().close();
});

test("by keyboard alone: ask, open a footnote, close it, go to the list", async () => {
  const p = await open(server.url);
  await p.getByRole("textbox", { name: "Your question" }).waitFor();
  await p.keyboard.type("Revenue by month");
  await p.keyboard.press("Enter");
  await answered(p, "Revenue by month");
  const note = p.getByRole("button", { name: /^€16,682.20 footnote 2/ });
  await note.focus();
  await p.keyboard.press("Enter");
  await p.getByRole("dialog", { name: "Footnote of €16,682.20" }).waitFor();
  await p.keyboard.press("Escape");
  await p.getByRole("dialog", { name: "Footnote of €16,682.20" }).waitFor({ state: "hidden" });
  assert.equal(await note.evaluate((el) => el === document.activeElement), true, "the focus did not come back");
  await p.keyboard.press("/");
  assert.equal(await p.evaluate(() => document.activeElement?.id), "composer");
  await p.keyboard.press("Control+b");
  await p.getByRole("navigation", { name: "Conversations" }).waitFor({ state: "hidden" });
  await p.keyboard.press("Control+b");
  await p.keyboard.press("Control+Shift+O");
  await p.getByRole("heading", { name: "What do you want to know?" }).waitFor();
  await p.done();
});

test("with API keys, a page signs in once, and out", async () => {
  const guarded = await serve({ env: { FOOTNOTE_API_KEYS: "sk-of-ada-12345=acme/ada" } });
  try {
    const p = await open(guarded.url, { allow: [/401/] });
    await p.getByRole("textbox", { name: "API key" }).fill("sk-of-nobody-1");
    await p.getByRole("button", { name: "Sign in" }).click();
    await p.getByText("That key isn't valid.").waitFor();
    await shot(p, "sign-in");
    await p.getByRole("textbox", { name: "API key" }).fill("sk-of-ada-12345");
    await p.getByRole("button", { name: "Sign in" }).click();
    await ask(p, "How many orders are there?");
    assert.equal(await p.evaluate(() => document.cookie), "", "a script can read the cookie");
    await p.reload();
    await answered(p, "How many orders are there?");
    await p.getByRole("textbox", { name: "Your question" }).fill("only for ada");
    await p.getByRole("button", { name: /ada/ }).click();
    await p.getByRole("menuitem", { name: "Sign out" }).click();
    await p.getByRole("textbox", { name: "API key" }).waitFor();
    assert.doesNotMatch(await p.evaluate(() => JSON.stringify({ ...sessionStorage })), /only for ada/);
    await p.done();
  } finally {
    await guarded.stop();
  }
});

test("a person who is signed out signs in again and stays on the page", async () => {
  const guarded = await serve({ env: { FOOTNOTE_API_KEYS: "sk-of-ada-12345=acme/ada" } });
  try {
    const p = await open(guarded.url, { viewport: phone, allow: [/401/] });
    const signIn = async () => {
      await p.getByRole("textbox", { name: "API key" }).fill("sk-of-ada-12345");
      await p.getByRole("button", { name: "Sign in" }).click();
    };
    await signIn();
    await ask(p, "How many orders are there?");
    await p.context().clearCookies();
    await p.getByRole("textbox", { name: "Your question" }).fill("How many customers are there?");
    await p.getByRole("button", { name: "Send" }).click();
    await p.getByText("Your session has ended").waitFor();
    await check(p, "signed-out");
    await signIn();
    await p.getByRole("article", { name: "Question: How many orders are there?" }).waitFor();
    assert.equal(await p.getByRole("textbox", { name: "Your question" }).inputValue(), "How many customers are there?");
    await p.getByRole("button", { name: "Send" }).click();
    await answered(p, "How many customers are there?");
    await p.done();
  } finally {
    await guarded.stop();
  }
});
