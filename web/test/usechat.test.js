// The page of examples/usechat, built as its README says, against the demo.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import path from "node:path";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";
import { close, open, serve, shot } from "./harness.js";

const root = path.resolve(import.meta.dirname, "../../examples/usechat");
const lib = path.join(root, "node_modules/vite/dist/node/index.js");

let server, site, url;
before(async () => {
  if (!existsSync(lib)) {
    const npm = spawnSync("npm", ["ci", "--no-audit", "--no-fund"], { cwd: root, encoding: "utf8" });
    assert.equal(npm.status, 0, npm.stderr);
  }
  server = await serve();
  process.env.FOOTNOTE = server.url; // for its vite.config.js
  const vite = await import(pathToFileURL(lib).href);
  await vite.build({ root, logLevel: "warn" });
  site = await vite.preview({ root, logLevel: "warn", preview: { host: "127.0.0.1", port: 0 } });
  url = `http://127.0.0.1:${site.httpServer.address().port}/`;
});
after(async () => {
  site?.httpServer.closeAllConnections();
  await site?.close();
  await server?.stop();
  await close();
});

async function ask(p, question) {
  await p.getByLabel("Question").fill(question);
  await p.keyboard.press("Enter");
}

const answered = (p) =>
  p
    .getByText(/tokens · /)
    .last()
    .waitFor();

test("ask, see the query behind the number, reload", async () => {
  const p = await open(url);
  await ask(p, "How many orders are there?");
  await answered(p);
  await p.getByRole("region", { name: "Tool run_query" }).getByText("done").waitFor();
  await p.getByRole("button", { name: "846" }).click();
  await p.getByText(/number_of_orders, row 1 of 1/).waitFor();
  assert.match(await p.locator(".popover:popover-open pre").innerText(), /SELECT COUNT\(\*\)/);
  await shot(p, "usechat-footnote");
  await p.reload();
  await answered(p);
  assert.equal(await p.getByRole("article").count(), 2);
  await ask(p, "only those of 2024");
  await p
    .getByRole("article")
    .nth(3)
    .getByText(/tokens · /)
    .waitFor();
  await p.done();
});

for (const [button, words] of [
  ["Approve", /sales\.csv/],
  ["Deny", /not approved/],
]) {
  test(`an approval, ${button}, after a reload`, async () => {
    const p = await open(`${url}?assistant=coder`);
    await ask(p, "run ls");
    await p.getByRole("button", { name: "Approve" }).waitFor();
    await p.reload();
    await p.getByRole("button", { name: button }).click();
    await answered(p);
    await p.getByRole("article").nth(1).getByText(words).filter({ visible: true }).first().waitFor();
    await shot(p, `usechat-${button.toLowerCase()}`);
    await p.done();
  });
}
