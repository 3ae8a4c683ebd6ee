// Results of files that stay in the browser, in the right pane: running the statement again,
// exporting rows, and what is shown while the file is closed.
import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import path from "node:path";
import { after, before, test } from "node:test";
import { inflateRawSync } from "node:zlib";
import { answered, ask, close, desktop, open, phone, serve } from "./harness.js";
import { check, inBoth } from "./look.js";

const lines = ["region,customer,amount,sold at"];
for (let i = 0; i < 600; i++)
  lines.push(
    `${["North", "South", "=1+1"][i % 3]},Kanarie${i}x,${i % 100},2025-${String(1 + (i % 12)).padStart(2, "0")}-15`,
  );
const sales = { name: "sales.csv", mimeType: "text/csv", buffer: Buffer.from(lines.join("\n")) };

let server;
before(async () => (server = await serve()));
after(async () => {
  await close();
  await server?.stop();
});

const files = (page) => page.getByRole("region", { name: "Files in this browser" });

async function begin(page, file = sales, rows = "600 rows") {
  await page.locator('input[aria-label="File to open"]').setInputFiles(file);
  await files(page).getByText(rows).waitFor({ timeout: 60_000 });
}

async function write(page, sql) {
  await page.getByRole("textbox", { name: "SQL" }).click();
  await page.keyboard.press("ControlOrMeta+a");
  await page.keyboard.insertText(sql);
}

/** Returns everything that the program has stored or logged. */
async function kept() {
  let all = server.log();
  for (const f of await readdir(server.folder, { recursive: true, withFileTypes: true })) {
    if (f.isFile()) all += (await readFile(path.join(f.parentPath, f.name))).toString("latin1");
  }
  return all;
}

/** Returns the first file in an archive whose name matches. */
function unzipped(data, name) {
  for (let at = 0; (at = data.indexOf(Buffer.from("PK\x01\x02", "latin1"), at)) >= 0; at += 46) {
    const [method, size, nameLength, offset] = [
      data.readUInt16LE(at + 10),
      data.readUInt32LE(at + 20),
      data.readUInt16LE(at + 28),
      data.readUInt32LE(at + 42),
    ];
    if (!name.test(data.toString("utf8", at + 46, at + 46 + nameLength))) continue;
    const start = offset + 30 + data.readUInt16LE(offset + 26) + data.readUInt16LE(offset + 28);
    const packed = data.subarray(start, start + size);
    return (method === 8 ? inflateRawSync(packed) : packed).toString("utf8");
  }
}

test("a local statement is edited and run again in the browser, which exports its rows", async () => {
  const page = await open(server.url);
  await begin(page);
  await ask(page, "total amount by region");
  await page.getByRole("tab", { name: "SQL" }).click();
  await page.getByText("The query runs in this browser, on your file.").waitFor();
  await write(page, "SELECT nothing FROM sales");
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Run", exact: true }).click();
  await page
    .getByRole("alert")
    .getByText(/nothing/)
    .waitFor();
  await check(page, "local-sql-error");
  await write(page, "SELECT customer, region, amount FROM sales ORDER BY amount, customer");
  await page.keyboard.press("ControlOrMeta+Enter");
  await page.getByRole("button", { name: "Version 2, by you", exact: true }).waitFor();
  await page.getByRole("note").getByText("You edited this query. The answer above still uses version 1.").waitFor();
  await page.getByRole("button", { name: "Changes since version 1" }).click();
  await check(page, "local-sql-again");
  await page.getByRole("tab", { name: "Table" }).click();
  const cell = page.getByRole("grid").getByRole("gridcell", { name: "Kanarie0x" });
  await cell.waitFor();
  const saved = {};
  for (const name of ["Excel (XLSX)", "CSV", "JSON"]) {
    await page.getByRole("button", { name: "Download" }).click();
    const [file] = await Promise.all([page.waitForEvent("download"), page.getByRole("menuitem", { name }).click()]);
    saved[name] = await readFile(await file.path());
  }
  const sheet = unzipped(saved["Excel (XLSX)"], /sheet1/);
  assert.equal(sheet.match(/<row>/g).length, 601);
  assert.match(sheet, /<t xml:space="preserve">'=1\+1<\/t>/);
  assert.doesNotMatch(sheet, /<f>/);
  const csv = saved.CSV.toString().split("\r\n");
  assert.deepEqual([csv.length, csv[0], csv[1]], [602, "customer,region,amount", "Kanarie0x,North,0"]);
  assert.ok(csv.some((l) => l.includes(",'=1+1,")));
  assert.equal(JSON.parse(saved.JSON).length, 600);
  // The log has it without its rows, and it is computed again after a reload.
  assert.doesNotMatch(await kept(), /Kanarie\d+x/);
  await page.reload();
  await page
    .getByText(/version 2, by you/)
    .first()
    .waitFor();
  await cell.waitFor({ timeout: 60_000 });
  // Without the file it says where the rows are.
  const closing = files(page).getByRole("button", { name: "Close sales.csv" });
  await closing.click();
  await closing.waitFor({ state: "detached" }); // its copy is deleted before that
  await page.reload();
  await page
    .getByRole("note")
    .getByText(/The 600 rows of this result are in a file that is not open/)
    .waitFor();
  await page.getByRole("tab", { name: "SQL" }).click();
  await page.getByText("Open the file again to run it.").waitFor();
  await check(page, "local-hidden");
  await begin(page);
  await page.getByRole("tab", { name: "Table" }).click();
  await cell.waitFor({ timeout: 60_000 });
  await page.done();
});

test("a waiting query resumes after a reload, or once its file is opened again", async () => {
  for (const keep of [true, false]) {
    const page = await open(server.url, { allow: [/\/turns$/] });
    await begin(page);
    if (!keep) {
      await page.getByRole("button", { name: /values leave|values first/ }).click();
      await page.getByRole("menuitemradio", { name: /Keep a copy/ }).click();
    }
    // The page's result does not arrive, so the call is still open when the page is left.
    const answers = "**/api/conversations/*/turns";
    await page.route(answers, (r) => r.abort());
    const tried = page.waitForRequest(/\/turns$/);
    await page.getByRole("textbox", { name: "Your question" }).fill("total amount by region");
    await page.getByRole("button", { name: "Send" }).click();
    await tried;
    await page.unroute(answers);
    await page.reload();
    if (!keep) {
      await page.getByText("The file is not open in this browser. Open it again to ask more.").waitFor();
      await check(page, "local-waiting");
      await begin(page);
    }
    await answered(page, "total amount by region");
    await page.getByRole("article").getByText("9,900").first().waitFor();
    await page.done();
  }
});

test("a table of a file is named with @", async () => {
  const page = await open(server.url);
  await page
    .locator('input[aria-label="File to open"]')
    .setInputFiles([
      sales,
      { name: "returns.csv", mimeType: "text/csv", buffer: Buffer.from("region,amount\nNorth,3\nSouth,4\n") },
    ]);
  await files(page).getByText("2 rows").waitFor({ timeout: 60_000 });
  const field = page.getByRole("textbox", { name: "Your question" });
  for (const [name, figure] of [
    ["returns", "7"],
    ["sales", "29,700"],
  ]) {
    await field.pressSequentially(`total amount @${name.slice(0, 3)}`);
    await page.getByRole("option", { name: new RegExp(`^${name}`), selected: true }).waitFor();
    await page.keyboard.press("Enter");
    await page.keyboard.press("Enter");
    const turn = await answered(page, `total amount ${name}`);
    await turn
      .getByRole("button", { name: new RegExp(`^${figure}`) })
      .first()
      .waitFor();
  }
  const log = await (
    await fetch(`${server.url}/api/conversations/${/\/c\/([^/?]+)/.exec(page.url())[1]}/events`)
  ).text();
  assert.match(log, /The user means this table: returns\./);
  assert.match(log, /The user means this table: sales\./);
  await page.done();
});

test("a file that is dropped on a conversation about other data does not end it", async () => {
  const page = await open(server.url);
  await ask(page, "Revenue by month");
  const field = page.getByRole("textbox", { name: "Your question" });
  await field.fill("half a question");
  const address = page.url();
  // If the page did not handle the drop, the browser would navigate to the file.
  const taken = (name) =>
    page.evaluate((name) => {
      const dataTransfer = new DataTransfer();
      dataTransfer.items.add(new File(["region,amount\nNorth,3\n"], name));
      const events = ["dragover", "drop"].map(
        (type) => new DragEvent(type, { dataTransfer, bubbles: true, cancelable: true }),
      );
      return events.map((e) => !document.body.dispatchEvent(e));
    }, name);
  assert.deepEqual(await taken("picture.gif"), [true, true]);
  await page.getByText("You can open CSV, TSV, Excel, Parquet and JSON files.").waitFor();
  assert.deepEqual(await taken("more.csv"), [true, true]);
  await page.getByText("more.csv: opened in this browser.").waitFor();
  assert.equal(await field.inputValue(), "half a question");
  assert.equal(page.url(), address);
  await check(page, "local-dropped");
  await page.getByRole("button", { name: "Ask about it" }).click();
  await files(page).getByText("1 row").waitFor({ timeout: 60_000 });
  await ask(page, "total amount");
  await page.goBack();
  await page.goBack();
  assert.equal(await field.inputValue(), "half a question");
  await page.done();
});

for (const [width, viewport] of Object.entries({ 1440: desktop, 390: phone })) {
  test(`local files, at ${width}`, async () => {
    const page = await open(server.url, { viewport });
    const see = (name) => inBoth(page, name, width);
    const wide = [
      Array.from({ length: 80 }, (_, i) => `measurement number ${i} of the station`).join(","),
      Array.from({ length: 80 }, (_, i) => i).join(","),
    ].join("\n");
    await page
      .locator('input[aria-label="File to open"]')
      .setInputFiles([
        sales,
        { name: "wide.csv", mimeType: "", buffer: Buffer.from(wide) },
        { name: "broken.xlsx", mimeType: "", buffer: Buffer.from("not one") },
      ]);
    await files(page)
      .getByRole("alert")
      .getByText("broken.xlsx: The file is not an XLSX workbook")
      .waitFor({ timeout: 60_000 });
    await see("local-home");
    await files(page).getByRole("button", { name: "wide.csv", exact: true }).click();
    await page.getByRole("dialog").getByText("measurement number 79 of the station").waitFor();
    await see("local-about");
    await page.keyboard.press("Escape");
    await files(page)
      .getByRole("button", { name: /values leave|values first/ })
      .click();
    await see("local-allowance");
    await page.keyboard.press("Escape");
    await files(page).getByRole("button", { name: "Close wide.csv" }).click();
    await files(page).getByRole("button", { name: "Close broken.xlsx" }).click();
    await files(page).getByText("600 rows").waitFor({ timeout: 60_000 });
    await ask(page, "total amount by region");
    await page.getByRole("button", { name: "What the model saw" }).click();
    await page.getByRole("dialog", { name: "What the model saw" }).waitFor();
    await see("local-seen");
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "hidden" });
    if (viewport === phone)
      await page
        .getByRole("log")
        .getByRole("button", { name: /^total amount by region|Result \d+ .*rows/ })
        .first()
        .click();
    for (const tab of ["Chart", "Table", "SQL"]) {
      await page.getByRole("tab", { name: tab }).click();
      await page.getByRole("tabpanel").locator(".chart[data-drawn], [role=grid]").first().waitFor();
      await see(`local-${tab.toLowerCase()}`);
    }
    await page.getByRole("button", { name: "Download" }).click();
    await see("local-download");
    await page.done();
  });
}
