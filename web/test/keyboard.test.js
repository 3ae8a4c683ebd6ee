// Home, the coder, settings and usage: by keyboard alone, and without any finding of axe.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { answered, close, desktop, open, phone, serve } from "./harness.js";
import { clean, reach } from "./look.js";

let server;
before(async () => (server = await serve()));
after(async () => {
  await close();
  await server?.stop();
});

const focused = (page) => page.evaluate(() => document.activeElement?.getAttribute("aria-label"));
const field = (page) => page.getByRole("textbox", { name: "Your question" });
const examples = (page) => page.getByRole("region", { name: "Questions to begin with" }).getByRole("button");

test("home: an example is asked by keyboard, and the skip link leads to the field", async () => {
  for (const [width, viewport] of [
    [1440, desktop],
    [390, phone],
  ]) {
    const p = await open(server.url, { viewport });
    await examples(p).first().waitFor();
    await clean(p, `keyboard-home-${width}`);
    await p.getByRole("heading", { level: 1 }).click(); // from the top of the page
    await reach(p, p.getByRole("link", { name: "Skip to the question field" }), "Shift+Tab");
    await p.keyboard.press("Enter");
    assert.equal(await focused(p), "Your question");
    await reach(p, examples(p).first());
    const text = await examples(p).first().innerText();
    await p.keyboard.press("Enter");
    await answered(p, text);
    await clean(p, `keyboard-answer-${width}`);
    await p.done();
  }
});

test("the coder is chosen, asked and allowed by keyboard", async () => {
  for (const [width, viewport] of [
    [1440, desktop],
    [390, phone],
  ]) {
    const p = await open(server.url, { viewport });
    await examples(p).first().waitFor();
    await field(p).focus();
    await reach(p, p.getByRole("button", { name: "Analyst" }));
    await p.keyboard.press("Enter");
    await reach(p, p.getByRole("menuitemradio", { name: /^Coder/ }), "ArrowDown");
    await p.keyboard.press("Enter");
    const write = examples(p).filter({ hasText: "Write hello to notes.txt" });
    await write.waitFor();
    await clean(p, `keyboard-coder-${width}`);
    await reach(p, write);
    await p.keyboard.press("Enter");
    await p.getByRole("button", { name: "Allow once", disabled: false }).waitFor();
    await clean(p, `keyboard-approval-${width}`);
    await p.waitForFunction(() => document.activeElement?.id === "composer");
    await p.keyboard.press("ArrowUp");
    await p.keyboard.press("a");
    await answered(p, "Write hello to notes.txt");
    await reach(p, p.getByRole("button", { name: "Files of the workspace" }), "Shift+Tab");
    await p.keyboard.press("Enter");
    await p.getByText("notes.txt").last().waitFor();
    await clean(p, `keyboard-files-${width}`);
    await p.done();
  }
});

test("settings and usage are opened, read and closed by keyboard", async () => {
  for (const [width, viewport] of [
    [1440, desktop],
    [390, phone],
  ]) {
    const p = await open(server.url, { viewport });
    await examples(p).first().waitFor();
    const account = p.getByRole("button", { name: /This machine/ });
    if (viewport === phone) {
      await reach(p, p.getByRole("button", { name: "Show the conversations" }), "Shift+Tab");
      await p.keyboard.press("Enter");
    }
    await reach(p, account, "Shift+Tab");
    await p.keyboard.press("Enter");
    await clean(p, `keyboard-account-${width}`);
    await reach(p, p.getByRole("menuitem", { name: "Usage and settings" }), "ArrowDown");
    await p.keyboard.press("Enter");
    const dialog = p.getByRole("dialog", { name: "Usage and settings" });
    await dialog.getByText("Tokens used").waitFor();
    assert.ok(await dialog.evaluate((d) => d.contains(document.activeElement)), "the focus is outside the dialog");
    await clean(p, `keyboard-settings-${width}`);
    await p.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    await p.goto(`${server.url}/usage`);
    await p.getByRole("heading", { name: "Usage", exact: true }).waitFor();
    await clean(p, `keyboard-usage-${width}`);
    await p.done();
  }
});
