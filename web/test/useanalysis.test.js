// The page of examples/useanalysis, built as its README says: a real EventSource, a file of
// 200,000 rows, and a connection that breaks while the browser works.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import path from "node:path";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";
import { close, line, open, serve, shot } from "./harness.js";

const root = path.resolve(import.meta.dirname, "../../examples/useanalysis");
const lib = path.join(root, "node_modules/vite/dist/node/index.js");

const lines = ["id,region,customer,amount"];
for (let i = 0; i < 200_000; i++) lines.push(`${i + 1},${["North", "South", "East"][i % 3]},Kanarie${i}x,${i % 100}`);
const sales = { name: "sales.csv", mimeType: "text/csv", buffer: Buffer.from(lines.join("\n")) };

let server, wire, site, url;
before(async () => {
  if (!existsSync(lib)) {
    const npm = spawnSync("npm", ["ci", "--no-audit", "--no-fund"], { cwd: root, encoding: "utf8" });
    assert.equal(npm.status, 0, npm.stderr);
  }
  server = await serve();
  process.env.FOOTNOTE = server.url; // for its vite.config.js
  const vite = await import(pathToFileURL(lib).href);
  await vite.build({ root, logLevel: "error" });
  site = await vite.preview({ root, logLevel: "silent", preview: { host: "127.0.0.1", port: 0 } });
  wire = await line(`http://127.0.0.1:${site.httpServer.address().port}`);
  url = `${wire.url}/`;
});
after(async () => {
  await wire?.stop();
  site?.httpServer.closeAllConnections();
  await site?.close();
  await close();
  await server?.stop();
});

async function begin(allow = []) {
  const p = await open(url, { allow });
  await p.getByLabel("CSV file").setInputFiles(sales);
  await p.getByText("sales: 200000 rows").waitFor({ timeout: 60_000 });
  return p;
}

async function ask(p, question) {
  await p.getByLabel("Question").fill(question);
  await p.getByRole("button", { name: "Ask" }).click();
}

const done = (p) => p.locator("section[data-state=done]").waitFor({ timeout: 30_000 });

test("200,000 rows are asked and charted", async () => {
  const p = await begin();
  await p.getByLabel("Send to the model").selectOption("50");
  await ask(p, "How many sales are there?");
  await done(p);
  await p.locator("mark", { hasText: "200,000" }).waitFor();
  await ask(p, "total amount by region");
  await done(p);
  await p.getByRole("img", { name: "total_amount by region" }).waitFor();
  assert.equal(await p.getByRole("table").getByRole("row").count(), 4);
  await shot(p, "useanalysis");
  await p.getByLabel("Send to the model").selectOption("0");
  await ask(p, "total amount by region");
  await done(p);
  await p.getByText(/No values were sent/).waitFor();
  assert.equal(await p.getByRole("table").getByRole("row").count(), 4, "the page has all rows itself");
  await p.done();
});

/** Returns everything that the program has stored or logged. */
async function kept() {
  let all = server.log();
  for (const f of await readdir(server.folder, { recursive: true, withFileTypes: true })) {
    if (f.isFile()) all += (await readFile(path.join(f.parentPath, f.name))).toString("latin1");
  }
  return all;
}

const canaries = (text) => new Set(text.match(/Kanarie\d+x/g) ?? []).size;

test("with no cells allowed, no part of a row leaves the page; with some, only those", async () => {
  const p = await begin();
  let sent = "";
  p.on("request", (r) => (sent += r.url() + (r.postData() ?? "")));
  await ask(p, "total amount by customer");
  await done(p);
  assert.ok(sent.includes("/api/analyze/tool-result") && sent.includes("200000"), "the page ran no query");
  assert.equal(canaries(sent), 0, "the page sent values");
  assert.equal(canaries(await kept()), 0, "the server kept values");
  await p.getByLabel("Send to the model").selectOption("50");
  await ask(p, "total amount by customer");
  await done(p);
  assert.ok(canaries(sent) > 0 && canaries(sent) <= 50, `the page sent ${canaries(sent)} values`);
  assert.equal(canaries(await kept()), canaries(sent), "the search finds what was kept");
  await p.done();
});

test("a connection that breaks while the browser works is resumed", async () => {
  const p = await begin([/Failed to load resource|ERR_|502|500/]);
  let streams = 0;
  p.on("request", (r) => (streams += new URL(r.url()).pathname === "/api/analyze" ? 1 : 0));
  // The first result is held back until the connection is cut.
  let release;
  const held = new Promise((resolve) => (release = resolve));
  await p.route("**/api/analyze/tool-result", async (r) => {
    await held;
    await r.continue();
  });
  await ask(p, "total amount by region");
  await p.getByText("run_query").or(p.locator("ol code")).first().waitFor();
  const again = p.waitForRequest((r) => new URL(r.url()).pathname === "/api/analyze");
  wire.cut();
  await again; // it fails, and so does the next one
  wire.mend();
  release();
  await done(p);
  await p.getByRole("img", { name: "total_amount by region" }).waitFor();
  assert.ok(streams >= 2, `there were ${streams} streams`);
  assert.equal(await p.locator("ol li").count(), 1, "no frame came twice");
  await p.done();
});
