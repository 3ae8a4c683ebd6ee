// Files that stay in the browser: 200,000 rows asked and charted, what leaves the
// page, cancelling, reloading.
import assert from "node:assert/strict";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import http from "node:http";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, before, test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { answered, ask, close, open, serveModel, shot } from "./harness.js";

const regions = ["North", "South", "East", "West"];
const canary = (i) => `Kanarie${(i * 7919) % 1_000_003}x`;

/** Generates sales, with a unique customer in each row. */
function csv(rows) {
  const lines = ["id,region,customer,amount,sold at"];
  for (let i = 0; i < rows; i++) {
    const day = new Date(Date.UTC(2025, 0, 1 + (i % 365)));
    lines.push(
      `${i + 1},${regions[i % 4]},${canary(i)},${((i % 1000) / 4).toFixed(2)},${day.toISOString().slice(0, 10)}`,
    );
  }
  return Buffer.from(lines.join("\n"));
}

const some = { name: "sales.csv", mimeType: "text/csv", buffer: csv(2000) };
let sales; // the path of 200,000 rows
const few = {
  name: "sales.csv",
  mimeType: "text/csv",
  buffer: Buffer.from("id,region,customer,amount\n1,North,Kanarie1x,2.5\n2,South,Kanarie2x,3.5\n"),
};
const requests = [];
let server;
before(async () => {
  sales = path.join(await mkdtemp(path.join(tmpdir(), "footnote-local-")), "sales.csv");
  await writeFile(sales, csv(200_000));
  server = await serveModel({ scenario: "local.yaml", requests, env: { FOOTNOTE_LOG_OUTPUT: "file" } });
});
after(async () => {
  await close();
  await server?.stop();
  await rm(path.dirname(sales), { recursive: true });
});

async function openFile(page, file) {
  const chosen = page.waitForEvent("filechooser");
  await page.getByRole("button", { name: "Add file", exact: true }).click();
  await page
    .getByRole("menuitem", { name: /Open in this browser/ })
    .or(page.getByRole("menuitemradio", { name: /Open in this browser/ }))
    .click();
  await (await chosen).setFiles(file, { timeout: 60_000 });
}

const files = (page) => page.getByRole("region", { name: "Files in this browser" });
const ready = (page, words) => files(page).getByText(words).waitFor({ timeout: 60_000 });

const asked = (page) => page.getByRole("region", { name: "Values to send" });

/** Asks, answers each question about cells with the given button until the answer is there,
 *  and returns the cells that were shown before they were sent. */
async function askAnd(page, question, button) {
  await page.getByRole("textbox", { name: "Your question" }).fill(question);
  await page.getByRole("button", { name: "Send" }).click();
  const shown = [];
  const turn = page.getByRole("article", { name: `Question: ${question}` }).last();
  const end = turn.getByRole("button", { name: /Copy the answer|Answer again/ }).first();
  for (;;) {
    await asked(page).or(end).first().waitFor({ timeout: 60_000 });
    if (!(await asked(page).isVisible())) return shown;
    const title = await asked(page).innerText();
    shown.push(
      ...(await asked(page).getByRole("cell").allInnerTexts()),
      ...(await asked(page).getByRole("columnheader").allInnerTexts()),
    );
    await asked(page).getByRole("button", { name: button }).click({ timeout: 60_000 });
    await page.waitForFunction((t) => document.querySelector("[aria-label='Values to send']")?.innerText !== t, title, {
      timeout: 60_000,
    });
  }
}

/** Returns everything that the program has stored or logged. */
async function kept() {
  let all = server.log();
  for (const f of await readdir(server.folder, { recursive: true, withFileTypes: true })) {
    if (f.isFile()) all += (await readFile(path.join(f.parentPath, f.name))).toString("latin1");
  }
  return all;
}

/** Returns the statements of a question with their outcomes, from the audit. */
async function audited(question) {
  for (;;) {
    const text = await readFile(path.join(server.folder, "audit.jsonl"), "utf8").catch(() => "");
    const lines = text
      .split("\n")
      .slice(0, -1)
      .map((line) => JSON.parse(line));
    const line = lines.find((l) => l.user_question === question);
    if (line) return line.sql_queries_executed.map((sql, i) => [sql, line.query_results_summary[i].outcome]);
    await setTimeout(100); // the audit is written shortly after the answer
  }
}

/** Records everything that the page sends from now on. */
function record(page) {
  let all = "";
  page.on("request", (r) => (all += `${r.url()} ${JSON.stringify(r.headers())} ${r.postData() ?? ""}\n`));
  return () => all;
}

const canaries = (text) => new Set(text.match(/Kanarie\d+x/g) ?? []).size;

test("200,000 rows are asked and charted, and the answer survives a reload", async () => {
  const page = await open(server.url);
  await openFile(page, sales);
  await ready(page, "200,000 rows");
  await shot(page, "local-home");
  await askAnd(page, "Sales by region", /^Send \d+ values$/);
  const table = page.getByRole("tab", { name: "Table" });
  await table.click();
  await page
    .getByRole("gridcell", { name: "North" })
    .or(page.getByRole("cell", { name: "North" }))
    .first()
    .waitFor();
  await page.getByRole("tab", { name: "Chart" }).click();
  await page.locator(".chart[data-drawn] svg").first().waitFor();
  await shot(page, "local-answer");
  await page.getByRole("button", { name: "What the model saw" }).click();
  await page
    .getByRole("dialog", { name: "What the model saw" })
    .getByText(/"row_count":4/)
    .waitFor();
  await shot(page, "local-seen");
  await page.getByRole("dialog").getByRole("button", { name: "Close" }).first().click();
  await page.reload();
  await ready(page, "200,000 rows");
  await page.getByText("The regions are compared in the chart.").first().waitFor();
  await page.done();
});

test("with no cells allowed, no part of a row leaves the browser", async () => {
  const page = await open(server.url, { allow: [/Content Security Policy/, /Refused to connect/, /policy/] });
  await openFile(page, sales);
  await ready(page, "200,000 rows");
  requests.length = 0;
  const leaves = record(page);
  // Nothing is sent while the page asks, and refusing applies to all later requests.
  await page.getByRole("textbox", { name: "Your question" }).fill("Give me all of it");
  await page.getByRole("button", { name: "Send" }).click();
  await asked(page).getByRole("table").waitFor({ timeout: 60_000 });
  assert.equal(canaries(leaves()), 0, "the page sent values before it was allowed to");
  await shot(page, "local-asks");
  await asked(page).getByLabel("Don't ask again in this conversation").check();
  await asked(page).getByRole("button", { name: "Send none" }).click();
  await answered(page, "Give me all of it");
  await page.getByText("That is all of it.").first().waitFor();
  const sent = requests.join("\n");
  assert.ok(sent.includes("CREATE TABLE"), "the model was told the names");
  assert.equal(canaries(sent), 0, "the model was sent values");
  assert.equal(canaries(leaves()), 0, "the page sent values");
  assert.equal(canaries(await kept()), 0, "the server kept values");
  // Statements that change data were refused, and nothing changed.
  assert.match(sent, /Only statements that read can be run here/);
  assert.match(sent, /failed while it read rows/);
  assert.match(sent, /"row_count\\?":200000/);
  // Code cannot pick names that a statement created, neither for a column nor in an error.
  assert.match(sent, /\\"columns\\*":\[\\*"chosen_a\\*",\\*"chosen_b\\*"\]/);
  assert.doesNotMatch(sent, /\\"columns\\*":\[\\*"chosen_.\\*"\]|reading 'chosen_/);
  assert.match(sent, /TypeError: Cannot read properties of undefined \(reading '…'\)/);
  const tried = await audited("Give me all of it");
  const outcome = (start) => tried.filter(([sql]) => sql.startsWith(start)).map(([, o]) => o);
  assert.deepEqual(outcome("SELECT *"), ["executed"]);
  assert.deepEqual(outcome("SELECT CAST"), ["failed"]);
  assert.deepEqual(outcome("DELETE"), ["refused"]);
  assert.deepEqual(outcome("WITH x AS (SELECT 1) DELETE"), ["failed"]); // DuckDB cannot describe it
  assert.deepEqual(outcome("FROM read_csv"), ["refused"]); // DuckDB may not open files
  assert.equal(tried.length, 9, JSON.stringify(tried)); // transforms run no statements
  await page
    .getByRole("button", { name: /queries|steps|transform/ })
    .first()
    .click();
  await shot(page, "local-no-cells");
  await page.done();
});

test("exactly the cells that were shown are sent, and no more", async () => {
  const page = await open(server.url, { allow: [/Content Security Policy/, /Refused to connect/, /policy/] });
  await openFile(page, sales);
  await ready(page, "200,000 rows");
  requests.length = 0;
  const leaves = record(page);
  const shown = canaries((await askAnd(page, "Give me all of it again", /^Send \d+ values?$/)).join("\n"));
  assert.equal(canaries(leaves()), shown, "what was shown is not what was sent");
  await page.getByText("That is all of it.").first().waitFor();
  const sent = requests.join("\n");
  const seen = canaries(sent);
  // 10 rows of 5 columns, 10 values of the distribution, the first and the last, 3 names.
  assert.ok(seen > 0 && seen <= 10 + 10 + 2 + 3 + 3, `the model saw ${seen} customers`);
  const stored = canaries(await kept());
  assert.ok(stored > 0 && stored <= seen, `the search finds ${stored} of the ${seen} customers that were allowed`);
  assert.match(
    sent,
    /\\*"columns\\*":\[\\*"mark\\*",\\*"out\\*"\],.*?\\*"rows\\*":\[\[\\*"r\d+\.0\\*",0\]\]/,
    "the sandbox let a request out",
  );
  await page.done();
});

test("a query that is stopped ends, and the next one works", async () => {
  const page = await open(server.url);
  await openFile(page, sales);
  await ready(page, "200,000 rows");
  await page.getByRole("textbox", { name: "Your question" }).fill("A slow one");
  await page.getByRole("button", { name: "Send" }).click();
  await page.getByRole("button", { name: "Stop" }).click();
  const turn = page.getByRole("article", { name: "Question: A slow one" });
  await turn
    .getByText(/[Ss]topped/)
    .first()
    .waitFor();
  await askAnd(page, "Sales by region", "Send none");
  await page.getByText("The regions are compared in the chart.").first().waitFor();
  await page.done();
});

test("the sandbox reaches nothing", async (t) => {
  const hits = [];
  const outside = http.createServer((req, res) => {
    hits.push(req.url);
    res.setHeader("Access-Control-Allow-Origin", "*");
    res.setHeader("Content-Type", "text/javascript");
    res.end("export default 1");
  });
  await new Promise((resolve) => outside.listen(0, "127.0.0.1", resolve));
  t.after(() => outside.close()); // an open server would keep this process running
  const out = `http://127.0.0.1:${outside.address().port}`;
  const page = await open(server.url, { allow: [/policy|Policy|Refused|WebSocket|Failed/] });
  const assets = await readdir(path.resolve(import.meta.dirname, "../dist/assets"));
  const script = assets.find((n) => n.startsWith("sandbox-") && n.endsWith(".js.br")).slice(0, -3);
  const ways = [
    `await fetch("${out}/fetch")`,
    `await (async () => {}).constructor('return fetch("${out}/made")')()`,
    `await import("${out}/import.js")`,
    `importScripts("${out}/scripts.js")`,
    `await new Promise((ok, no) => { const s = new WebSocket("${out.replace("http", "ws")}/socket"); s.onopen = ok; s.onerror = no; })`,
    `await new Promise((ok, no) => { const s = new EventSource("${out}/source"); s.onopen = ok; s.onerror = no; })`,
    `navigator.sendBeacon("${out}/beacon", "x")`,
    `new Worker("data:text/javascript,fetch('${out}/worker')")`,
    `self.fetch = Object.getPrototypeOf(Object.getPrototypeOf(self)).fetch; await self.fetch.call(self, "${out}/prototype")`,
    `while (true) {}`,
  ];
  const said = await page.evaluate(
    ({ script, ways }) =>
      Promise.all(
        ways.map(
          (code) =>
            new Promise((resolve) => {
              const w = new Worker(`/assets/${script}`, { type: "module" });
              const end = (v) => (w.terminate(), resolve(v));
              w.onmessage = (e) => e.data.ready || end(JSON.stringify(e.data));
              w.onerror = () => end("error");
              setTimeout(() => end("still running"), 3000);
              w.postMessage({ code: `${code}; return [{ reached: 1 }]` });
              w.postMessage({ source: 0, steps: [{ columns: ["a"], rows: [[1]] }] });
            }),
        ),
      ),
    { script, ways },
  );
  assert.deepEqual(hits, []);
  said.forEach((s, i) => assert.doesNotMatch(s, /"reached"/, ways[i]));
  assert.equal(said.at(-1), "still running");
  const worked = await page.evaluate(
    (script) =>
      new Promise((resolve) => {
        const w = new Worker(`/assets/${script}`, { type: "module" });
        w.onmessage = (e) => e.data.ready || resolve(e.data);
        w.postMessage({ code: "return data.map((r) => ({ twice: r.a * 2, all: allSteps.length }))" });
        w.postMessage({
          source: 1,
          steps: [
            { columns: ["a"], rows: [] },
            { columns: ["a"], rows: [[21]] },
          ],
        });
      }),
    script,
  );
  assert.deepEqual(worked.result, { columns: ["twice", "all"], rows: [[42, 2]], rowCount: 1 });
  await page.context().close();
});

const odd = {
  "umsätze.csv": Buffer.from(
    '\ufeffPLZ;Ort;Umsatz;Datum\r\n01067;Dresden;1.234,50;31.01.2025\r\n80331;"München; Mitte";12,25;01.02.2025\r\n',
    "utf8",
  ),
  "latin.csv": Buffer.from("Stadt;Wert\nK\xf6ln;1,5\nBonn;2,5\n", "latin1"),
  "tabs.tsv": Buffer.from("a\tb\n1\tx\n2\ty\n"),
  "records.json": Buffer.from(
    JSON.stringify([
      { id: 1, at: "2025-01-02T03:04:05Z", who: { name: "A", tags: ["x"] } },
      { id: 2, at: null, who: { name: "B" } },
    ]),
  ),
  "lines.jsonl": Buffer.from('{"n":1}\n{"n":2.5}\n'),
};

/** Generates a workbook with a title above its table, formatted dates and an empty column. */
async function workbook() {
  const { zipSync, strToU8 } = await import("../ui/node_modules/fflate/esm/index.mjs");
  const files = {
    "xl/workbook.xml": '<workbook><sheets><sheet name="One" sheetId="1" r:id="rId1"/></sheets></workbook>',
    "xl/_rels/workbook.xml.rels":
      '<Relationships><Relationship Id="rId1" Target="worksheets/sheet1.xml"/></Relationships>',
    "xl/sharedStrings.xml":
      "<sst><si><t>Sales &amp; more</t></si><si><t>Name</t></si><si><t>Day</t></si><si><t>Amount</t></si><si><t>Paid</t></si><si><r><t>A</t></r><r><t>nna</t></r></si></sst>",
    "xl/styles.xml":
      '<styleSheet><numFmts><numFmt numFmtId="170" formatCode="dd/mm/yyyy"/></numFmts><cellXfs><xf numFmtId="0"/><xf numFmtId="170"/></cellXfs></styleSheet>',
    "xl/worksheets/sheet1.xml": `<worksheet><sheetData>
      <row r="1"><c r="A1" t="s"><v>0</v></c></row>
      <row r="3"><c r="A3" t="s"><v>1</v></c><c r="B3" t="s"><v>2</v></c><c r="D3" t="s"><v>3</v></c><c r="E3" t="s"><v>4</v></c></row>
      <row r="4"><c r="A4" t="s"><v>5</v></c><c r="B4" s="1"><v>45658</v></c><c r="D4"><v>12.5</v></c><c r="E4" t="b"><v>1</v></c></row>
      <row r="5"><c r="A5" t="inlineStr"><is><t>Ben</t></is></c><c r="B5" s="1"><v>45689</v></c><c r="D5"><f>1+1</f><v>2</v></c><c r="E5" t="b"><v>0</v></c></row>
    </sheetData></worksheet>`,
  };
  return Buffer.from(zipSync(Object.fromEntries(Object.entries(files).map(([n, x]) => [n, strToU8(x)]))));
}

test("files of all kinds", async () => {
  const page = await open(server.url);
  const chosen = page.waitForEvent("filechooser");
  await page.getByRole("button", { name: "Add file", exact: true }).click();
  await page.getByRole("menuitem", { name: /Open in this browser/ }).click();
  const all = {
    ...odd,
    "book.xlsx": await workbook(),
    "snappy.parquet": await readFile(path.join(import.meta.dirname, "files/snappy.parquet")),
  };
  await (await chosen).setFiles(Object.entries(all).map(([name, buffer]) => ({ name, mimeType: "", buffer })));
  const columns = async (name) => {
    await files(page).getByRole("button", { name, exact: true }).click();
    const dialog = page.getByRole("dialog", { name });
    const words = await dialog.getByRole("listitem").allInnerTexts();
    await dialog.getByRole("button", { name: "Close" }).first().click();
    return words.map((w) => w.replace(/\s+/g, " "));
  };
  await files(page).getByRole("button", { name: "snappy.parquet", exact: true }).waitFor();
  await files(page).getByText("opening").first().waitFor({ state: "detached", timeout: 60_000 });
  await shot(page, "local-kinds");
  assert.deepEqual(await columns("umsätze.csv"), ["PLZ varchar", "Ort varchar", "Umsatz double", "Datum date"]);
  assert.deepEqual(await columns("latin.csv"), ["Stadt varchar", "Wert double"]);
  assert.deepEqual(await columns("tabs.tsv"), ["a bigint", "b varchar"]);
  assert.deepEqual(await columns("records.json"), [
    "id bigint",
    "at timestamp",
    "who.name varchar",
    "who.tags varchar",
  ]);
  assert.deepEqual(await columns("lines.jsonl"), ["n double"]);
  assert.deepEqual(await columns("book.xlsx"), ["Name varchar", "Day date", "Amount double", "Paid boolean"]);
  assert.deepEqual(await columns("snappy.parquet"), ["id bigint", "name varchar", "day date", "amount double"]);
  await shot(page, "local-kinds");
  await page.done();
});

test("a question waits for its file, and a reload keeps asking the file", async () => {
  const page = await open(server.url);
  let load;
  const allowed = new Promise((resolve) => (load = resolve));
  await page.route("**/*.wasm*", async (r) => (await allowed, r.continue()));
  await openFile(page, few);
  await files(page).getByText(few.name).waitFor();
  const field = page.getByRole("textbox", { name: "Your question" });
  await field.fill("Sales by region");
  await field.press("Enter");
  await page.getByText("Not sent: a file is still opening.").waitFor();
  load();
  await ready(page, "2 rows");
  await page.getByText("Not sent").waitFor({ state: "hidden" });
  await page.reload();
  await ready(page, "2 rows");
  await field.fill("Sales by region");
  await field.press("Enter");
  await asked(page).getByRole("button", { name: "Send none" }).click({ timeout: 60_000 });
  await answered(page, "Sales by region");
  // A closed file is no longer queried.
  await page.goto(server.url);
  await files(page)
    .getByRole("button", { name: `Close ${few.name}` })
    .click();
  await files(page).getByText(few.name).waitFor({ state: "hidden" });
  await page.reload();
  await page.getByRole("button", { name: /^(shop|All data)$/ }).waitFor();
  await page.done();
});

test("a cell choice applies to its conversation, can be changed, and is not carried to the next", async () => {
  const page = await open(server.url);
  await openFile(page, some);
  await ready(page, "2,000 rows");
  await files(page)
    .getByText(/id, region, customer, amount, sold at. No values/)
    .waitFor();
  await page.getByRole("textbox", { name: "Your question" }).fill("Sales by region");
  await page.getByRole("button", { name: "Send" }).click();
  // Keyboard only, and after a reload the question is still there.
  await asked(page).waitFor({ timeout: 60_000 });
  await page.reload();
  await asked(page).getByLabel("Don't ask again in this conversation").focus({ timeout: 60_000 });
  await page.keyboard.press("Space");
  await page.keyboard.press("Tab");
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  await answered(page, "Sales by region");
  await files(page).getByRole("button", { name: "Up to 50 values per result are sent" }).click();
  await page.getByRole("menuitemradio", { name: /Send none/ }).click();
  const leaves = record(page);
  await ask(page, "Sales by region once more");
  assert.match(leaves(), /"rows":\[\]/);
  await page.getByRole("link", { name: "New question" }).first().click();
  await openFile(page, few);
  await ready(page, "2 rows");
  await page.getByRole("textbox", { name: "Your question" }).fill("Sales by region anew");
  await page.getByRole("button", { name: "Send" }).click();
  await asked(page).getByRole("button", { name: "Send none" }).click({ timeout: 60_000 });
  await answered(page, "Sales by region anew");
  await page.done();
});

test("a question about cells can be answered in any tab, and is dismissed by a new question", async () => {
  const page = await open(server.url);
  const leaves = record(page);
  await openFile(page, few);
  await ready(page, "2 rows");
  await page.getByRole("textbox", { name: "Your question" }).fill("Sales by region");
  await page.getByRole("button", { name: "Send" }).click();
  await page.getByText(/for you to choose which values to send/).waitFor({ timeout: 60_000 });
  const other = await open(page.url(), { context: page.context() });
  await asked(other).getByLabel("Don't ask again in this conversation").check({ timeout: 60_000 });
  await asked(other).getByRole("button", { name: "Send none" }).click();
  await answered(page, "Sales by region");
  await answered(other, "Sales by region");
  assert.equal(await asked(page).count(), 0);
  // A choice in one tab applies in the other.
  await files(page).getByRole("button", { name: "No values are sent" }).click();
  await page.getByRole("menuitemradio", { name: /Ask each time/ }).click();
  await files(other).getByRole("button", { name: "Asks about values first" }).waitFor();
  await other.done();
  const field = page.getByRole("textbox", { name: "Your question" });
  await field.fill("Sales by region once more");
  await field.press("Enter");
  await asked(page).waitFor({ timeout: 60_000 });
  // In the empty question field, the up arrow focuses the card.
  await field.press("ArrowUp");
  assert.equal(await page.evaluate(() => document.activeElement.getAttribute("aria-label")), "Values to send");
  await field.fill("Sales by region instead");
  await field.press("Enter");
  await answered(page, "Sales by region instead");
  assert.equal(await asked(page).count(), 0);
  assert.doesNotMatch(leaves(), /North|South/);
  await page.done();
});

test("errors of a transform contain no values, also when it takes too long", async () => {
  const page = await open(server.url);
  await openFile(page, some);
  await ready(page, "2,000 rows");
  requests.length = 0;
  await askAnd(page, "An endless transform", "Send none");
  const sent = requests.join("\n");
  assert.match(sent, /The transform was stopped after 10 s\. Compute less, or aggregate the rows in SQL first\./);
  assert.match(sent, /SyntaxError: missing \) after argument list/);
  assert.match(sent, /There is no table nothing; there are sales\./);
  assert.match(sent, /TypeError: Cannot read properties of undefined \(reading '…'\)/);
  assert.match(sent, /Binder Error: the statement failed while it read rows/);
  assert.match(sent, /There is no step 99: this question has \d+ so far, counted from 0\./);
  assert.match(sent, /Step 1 failed, so it has no rows\./);
  // DESCRIBE returns rows, and column names are not values.
  assert.match(sent, /"column_name\\*",\\*"column_type\\*",\\*"min\\*",\\*"max/);
  assert.match(sent, /"column_name\\*",\\*"column_type\\*",\\*"null/);
  assert.match(sent, /"rows\\*",\\*"nulls\\*",\\*"distinct\\*",\\*"min/);
  assert.equal(canaries(sent), 0, "an error has values in it");
  const turn = page.getByRole("article", { name: "Question: An endless transform" });
  await turn.getByRole("button", { name: /queries/ }).click();
  await turn.getByRole("button", { name: /Loop for ever/ }).click();
  await page.getByText("The transform was stopped after 10 s.").first().waitFor();
  await page.done();
});
