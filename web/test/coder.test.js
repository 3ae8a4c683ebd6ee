// The coder: approvals, changes and files.
import assert from "node:assert/strict";
import path from "node:path";
import { after, before, test } from "node:test";
import { answered, close, open, serve, shot } from "./harness.js";

let server;
before(async () => (server = await serve()));
after(async () => {
  await server?.stop();
  await close();
});

/** Starts a conversation with the coder. */
async function coder(options) {
  const p = await open(server.url, options);
  await p.getByRole("button", { name: "Analyst" }).click();
  await p.getByRole("menuitemradio", { name: /^Coder/ }).click();
  return p;
}

const send = async (page, request) => {
  await page.getByRole("textbox", { name: "Your question" }).fill(request);
  await page.getByRole("button", { name: "Send" }).click();
};

const approval = (page) => page.getByRole("group", { name: "Approval" });

/** Returns the newest approval's outcome from the log. */
async function decision(page) {
  const id = /\/c\/([^/?]+)/.exec(page.url())[1];
  const text = await (await fetch(`${server.url}/api/conversations/${id}/events`)).text();
  return text
    .split("\n")
    .filter(Boolean)
    .map((l) => JSON.parse(l))
    .findLast((e) => e.kind === "approval_given")?.body;
}

test("a change shows its difference before it is allowed, by keyboard, and after", async () => {
  const p = await coder();
  const request = "replace draft by final in README.md";
  await send(p, request);
  await approval(p).getByText("Status: final").waitFor();
  const rows = approval(p).getByRole("row");
  assert.deepEqual(
    (await rows.filter({ hasText: "Status:" }).allInnerTexts()).map((t) => t.replace(/\s+/g, " ").trim()),
    ["3 − removed: Status: draft", "3 + added: Status: final"],
  );
  await shot(p, "approval");
  // In the empty question field, the up arrow focuses the card, where A allows.
  await p.getByRole("textbox", { name: "Your question" }).press("ArrowUp");
  await p.keyboard.press("a");
  await approval(p).waitFor({ state: "hidden" });
  const turn = await answered(p, request);
  assert.equal((await decision(p)).approved, true);
  await p.waitForFunction(() => document.activeElement?.id === "composer");
  await turn.getByRole("button", { name: /step/ }).click();
  await turn.getByRole("button", { name: /^Editing a file/ }).click();
  const diff = turn.getByRole("region", { name: "Changes of README.md" });
  await diff.getByText("Status: draft").waitFor();
  assert.equal(await diff.getByText("Try in the coder").count(), 0);
  await diff.getByRole("button", { name: "3 unchanged lines" }).click();
  await diff.getByText("Try in the coder").waitFor();
  await shot(p, "diff");
  await p.done();
});

test("a command is declined with a reason, then allowed always", async () => {
  const p = await coder();
  await send(p, "run sh report.sh");
  await approval(p).getByText("sh report.sh").waitFor();
  await p.getByRole("textbox", { name: "Your question" }).press("ArrowUp");
  await p.keyboard.press("d");
  await p.getByRole("textbox", { name: "Why not" }).fill("Not on a Friday");
  await shot(p, "decline");
  await p.keyboard.press("Enter");
  await approval(p).waitFor({ state: "hidden" });
  let turn = await answered(p, "run sh report.sh");
  assert.deepEqual([(await decision(p)).approved, (await decision(p)).reason], [false, "Not on a Friday"]);
  await turn.getByRole("button", { name: /step/ }).click();
  await turn.getByRole("button", { name: /^Running a command/ }).click();
  await turn.getByText("Declined: “Not on a Friday”").waitFor();

  await send(p, "run sh report.sh >sums.txt; cat sums.txt");
  await approval(p).getByRole("button", { name: "Always in this conversation" }).click();
  turn = await answered(p, "run sh report.sh >sums.txt; cat sums.txt");
  await turn.getByRole("button", { name: /step/ }).click();
  await turn.getByRole("button", { name: /^Running a command/ }).click();
  await turn.getByRole("region", { name: "Output" }).getByText("north 3815").waitFor();
  await turn.getByRole("region", { name: "Changes of sums.txt" }).getByText("south 2765").waitFor();
  await turn.getByText("exit 0").waitFor();
  await shot(p, "command");
  await send(p, "run false");
  turn = await answered(p, "run false");
  await turn.getByRole("button", { name: /step/ }).click();
  await turn.getByText("exit 1").first().waitFor();
  await p.done();
});

test("a card disappears once it is answered in another tab", async () => {
  const p = await coder();
  await send(p, "write hello to notes.txt");
  await approval(p).getByText("A new file, 1 line.").waitFor();
  const other = await open(p.url(), { context: p.context() });
  await approval(other).getByRole("button", { name: "Allow once" }).click();
  await approval(p).waitFor({ state: "hidden" });
  await answered(p, "write hello to notes.txt");
  await other.done();
  await p.done();
});

/** Asks for a change and allows it. */
async function change(page, request) {
  await send(page, request);
  await approval(page).getByRole("button", { name: "Allow once" }).click();
  await approval(page).waitFor({ state: "hidden" });
  return answered(page, request);
}

test("the files of the workspace, their lines and versions, and a change that is reverted", async () => {
  const p = await coder();
  await change(p, "replace draft by final in README.md");
  await change(p, "write hello to notes/today.txt");
  await p.getByRole("button", { name: "Files of the workspace" }).click();
  const changed = p.getByRole("region", { name: "Changed by this conversation" });
  await changed.getByRole("button", { name: /^README\.md/ }).waitFor();
  assert.equal(await changed.getByRole("listitem").count(), 2);
  const all = p.getByRole("region", { name: "All files" });
  await all.getByRole("button", { name: "notes/" }).waitFor();
  await shot(p, "coder");
  await all.getByRole("button", { name: /^sales\.csv/ }).click();
  await p.getByRole("region", { name: "Content of sales.csv" }).getByText("2026-09,south,1005").waitFor();
  await shot(p, "coder-content");
  const saved = p.waitForEvent("download");
  await p.getByRole("button", { name: "Download sales.csv" }).click();
  assert.equal((await saved).suggestedFilename(), "sales.csv");

  await p.getByRole("button", { name: "All files" }).click();
  await changed.getByRole("button", { name: /^README\.md/ }).click();
  await p.getByRole("region", { name: "Version 2" }).getByText("Status: final").waitFor();
  await shot(p, "coder-versions");
  await p.getByRole("button", { name: "Show the call" }).click();
  await p.waitForFunction(() => document.activeElement?.textContent?.startsWith("Editing a file"));
  await p.getByRole("log").getByRole("region", { name: "Changes of README.md" }).waitFor();
  await p.getByRole("button", { name: "Undo this change" }).click();
  await p.getByText("Undone. README.md has its previous content.").waitFor();
  await p
    .getByRole("list", { name: "Versions, newest first" })
    .getByRole("button", { name: /^v3 ?Restored by hand/ })
    .waitFor();
  await p.getByRole("tab", { name: "Content" }).click();
  await p.getByRole("region", { name: "Content of README.md" }).getByText("Status: draft").waitFor();

  // The URL names the file, so a reload opens it again.
  await p.reload();
  await p.getByRole("region", { name: "Content of README.md" }).getByText("Status: draft").waitFor();
  await p.done();
});

test("a coder without a working folder is disabled, and says what is missing", async () => {
  const bare = await serve({
    args: ["serve"],
    env: { FOOTNOTE_SOURCES: `shop=${path.join(server.folder, "shop.db")}` },
  });
  try {
    const p = await open(bare.url);
    await p.getByRole("button", { name: "Analyst" }).click();
    const off = p.getByRole("menuitemradio", { name: /^Coder/ });
    assert.equal(await off.getAttribute("aria-disabled"), "true");
    await off.getByText("set FOOTNOTE_WORKSPACE").waitFor();
    await off.click({ force: true });
    assert.equal(await off.getAttribute("aria-checked"), "false");
    await shot(p, "coder-off");
    await p.keyboard.press("Escape");
    await p.keyboard.press("Control+k");
    await p.getByRole("combobox", { name: "Command" }).fill("coder");
    await p.getByRole("option", { name: /^Coder/, disabled: true }).waitFor();
    await p.keyboard.press("Enter");
    await p.getByRole("dialog", { name: "Go to" }).waitFor(); // a disabled command stays listed with its reason
    await p.done();
  } finally {
    await bare.stop();
  }
});
