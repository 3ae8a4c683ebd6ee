// The start page, when something is missing.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtemp, rename, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, before, test } from "node:test";
import { ask, binary, close, desktop, line, open, phone, serve } from "./harness.js";
import { inBoth } from "./look.js";

let server, folder;
before(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "footnote-home-"));
  for (const name of ["shop", "depot"])
    execFileSync(binary, ["seed-demo", path.join(folder, `${name}.db`), "--data", folder]);
  server = await serve({
    args: [
      "serve",
      "--source",
      `shop=${path.join(folder, "shop.db")}`,
      "--source",
      `depot=${path.join(folder, "depot.db")}`,
    ],
  });
});
after(async () => {
  await close();
  await server?.stop();
  await rm(folder, { recursive: true, force: true });
});

const away = [/Failed to load resource/, /net::ERR/];
const widths = Object.entries({ 1440: desktop, 390: phone });

test("a source that cannot be read is named with its reason, and can be retried", async () => {
  const at = path.join(folder, "depot.db");
  for (const [width, viewport] of widths) {
    await rename(at, `${at}.gone`);
    try {
      const p = await open(server.url, { viewport, allow: away });
      const said = p.getByRole("alert").filter({ hasText: "depot cannot be read. The database file is not there." });
      await said.waitFor();
      await p.getByRole("button", { name: "Revenue by month", exact: true }).waitFor(); // of the readable source
      await inBoth(p, "home-source", Number(width));
      await said.getByRole("button", { name: "Try again" }).click();
      await said.getByRole("button", { name: "Try again", disabled: false }).waitFor();
      await rename(`${at}.gone`, at);
      await said.getByRole("button", { name: "Try again" }).click();
      await said.waitFor({ state: "detached" });
      await p.done();
    } finally {
      await rename(`${at}.gone`, at).catch(() => {});
    }
  }
});

test("a source that becomes unavailable before it is selected says so, and can be retried", async () => {
  const at = path.join(folder, "depot.db");
  const p = await open(server.url, { allow: away });
  await p.getByRole("button", { name: "All data" }).click();
  await rename(at, `${at}.gone`); // after the list was loaded
  try {
    await p.getByRole("menuitemradio", { name: /^depot/ }).click();
    await p.getByRole("alert").getByText("The database file is not there.").waitFor();
    assert.equal(await p.getByRole("alert").count(), 1);
    await rename(`${at}.gone`, at);
    await p.getByRole("alert").getByRole("button", { name: "Try again" }).click();
    await p.getByRole("alert").waitFor({ state: "detached" });
    await p.getByRole("button", { name: "Revenue by month", exact: true }).waitFor();
    await p.done();
  } finally {
    await rename(`${at}.gone`, at).catch(() => {});
  }
});

test("while the server is down, the page keeps what it showed, and recovers by itself", async () => {
  for (const [width, viewport] of widths) {
    const wire = await line(server.url);
    try {
      const p = await open(wire.url, { viewport, allow: away });
      await ask(p, "Share of orders by status");
      const wide = width === "1440";
      const listed = p
        .getByRole("navigation", { name: "Conversations" })
        .getByRole("link", { name: "Share of orders by status" });
      await p.goto(wire.url);
      // Everything must be loaded before the connection is cut; the next test covers what is not.
      const begin = p.getByRole("region", { name: "Questions to begin with" }).getByRole("button");
      await begin.nth(5).waitFor();
      if (wide) await listed.first().waitFor();
      const before = wide && (await listed.count());
      wire.cut();
      await p.evaluate(() => dispatchEvent(new Event("focus"))); // reloads the list
      await p.getByRole("status").getByText("Offline: showing what was loaded earlier.").waitFor();
      if (wide) assert.equal(await listed.count(), before);
      assert.equal(await begin.count(), 6);
      assert.equal(await p.getByRole("alert").count(), 0);
      await p.getByRole("textbox", { name: "Your question" }).fill("Revenue by category");
      await inBoth(p, "home-away", Number(width));
      wire.mend();
      await p
        .getByRole("status")
        .getByText("Offline: showing what was loaded earlier.")
        .waitFor({ state: "detached", timeout: 60_000 });
      await p.getByRole("button", { name: "Send", exact: true }).click();
      await p.getByRole("log").getByText("Revenue by category").first().waitFor();
      await p.done();
    } finally {
      await wire.stop();
    }
  }
});

test("parts that were never loaded appear by themselves once the server is back", async () => {
  const wire = await line(server.url);
  try {
    const p = await open(wire.url, { allow: away });
    await ask(p, "Share of orders by status");
    await p.reload(); // opens a conversation, so the start page has loaded nothing yet
    await p.getByRole("article").waitFor();
    wire.cut();
    await p.getByText("Reconnecting").waitFor();
    await p.getByRole("link", { name: "New question", exact: true }).click();
    await p.getByRole("status").getByText("Offline: showing what was loaded earlier.").waitFor();
    wire.mend();
    await p.getByRole("button", { name: "Revenue by month", exact: true }).waitFor({ timeout: 60_000 });
    await p.getByRole("status").getByText("Offline: showing what was loaded earlier.").waitFor({ state: "detached" });
    assert.equal(await p.getByRole("alert").count(), 0);
    await p.done();
  } finally {
    await wire.stop();
  }
});
