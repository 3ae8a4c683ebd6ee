// Files that stay in the browser, without a model: the offline planner asks the page.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { ask, close, open, serve, shot } from "./harness.js";

const lines = ["order id,region,customer,amount,sold at"];
for (let i = 0; i < 5000; i++) {
  lines.push(`${i + 1},${["North", "South", "East"][i % 3]},customer ${i % 700},${i % 100},2025-${String(1 + (i % 12)).padStart(2, "0")}-15`);
}
const sales = { name: "sales.csv", mimeType: "text/csv", buffer: Buffer.from(lines.join("\n")) };

let server;
before(async () => {
  server = await serve();
});
after(async () => {
  await close();
  await server?.stop();
});

async function begin(page) {
  const chosen = page.waitForEvent("filechooser");
  await page.getByRole("button", { name: "File", exact: true }).click();
  await page.getByRole("menuitem", { name: /Open in this browser/ }).click();
  await (await chosen).setFiles(sales);
  await page.getByText("5,000 rows").waitFor({ timeout: 60_000 });
}

test("honest questions over a local file", async () => {
  const page = await open(server.url);
  await begin(page);
  for (const [question, want] of [
    ["How many sales are there?", /5,000/],
    ["What is the average amount?", /49\.5/],
    ["total amount by region", /North|South|East/],
    ["How many sales in North?", /1,667/],
    ["top 3 customers by amount", /customer \d+/],
    ["number of sales by month", /2025/],
  ]) {
    await ask(page, question);
    const turn = page.getByRole("article", { name: `Question: ${question}` }).last();
    assert.match(await turn.innerText(), want, question);
  }
  await shot(page, "local-offline");
  await page.done();
});

test("without cells the planner says that it has not seen the result", async () => {
  const page = await open(server.url);
  await begin(page);
  await page.getByRole("button", { name: /The model sees/ }).click();
  await page.getByRole("menuitemradio", { name: "No cells" }).click();
  await ask(page, "total amount by region");
  await page.getByText(/I have not seen its cells/).first().waitFor();
  await page.getByRole("tab", { name: "Table" }).click();
  await page.getByText("North").first().waitFor();
  await shot(page, "local-offline-blind");
  await page.done();
});
