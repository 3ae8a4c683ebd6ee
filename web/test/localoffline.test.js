// Files that stay in the browser, without a model: the offline planner queries the page.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { ask, close, open, serve, shot } from "./harness.js";

const lines = ["order id,region,customer,amount,sold at"];
for (let i = 0; i < 5000; i++) {
  lines.push(
    `${i + 1},${["North", "South", "East"][i % 3]},customer ${i % 700},${i % 100},2025-${String(1 + (i % 12)).padStart(2, "0")}-15`,
  );
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
  await page.getByRole("button", { name: "Add file", exact: true }).click();
  await page.getByRole("menuitem", { name: /Open in this browser/ }).click();
  await (await chosen).setFiles(sales);
  await page.getByText("5,000 rows").waitFor({ timeout: 60_000 });
}

/** Records everything that the page sends from now on: addresses, headers and bodies. */
function record(page) {
  let all = "";
  page.on("request", (r) => (all += `${r.url()} ${JSON.stringify(r.headers())} ${r.postData() ?? ""}\n`));
  return () => all;
}

test("questions about a local file are answered in the page", async () => {
  const page = await open(server.url);
  await begin(page);
  const leaves = record(page);
  for (const [question, want] of [
    ["How many sales are there?", /5,000/],
    ["What is the average amount?", /49\.5/],
    ["total amount by region", /North[^]*South|South[^]*North/],
    ["top 3 customers by amount", /customer \d+/],
    ["number of sales by month", /2025/],
  ]) {
    await ask(page, question);
    const turn = page.getByRole("article", { name: `Question: ${question}` }).last();
    await turn.getByText("From the rows in this browser:").waitFor();
    assert.match(await turn.innerText(), want, question);
  }
  assert.doesNotMatch(leaves(), /North|customer \d|49\.5/);
  // Each number has a footnote: a cell in this browser.
  const total = page.getByRole("article", { name: "Question: total amount by region" });
  await total
    .getByRole("table")
    .getByRole("button", { name: /footnote/ })
    .first()
    .click();
  await page
    .getByRole("dialog", { name: /Footnote of/ })
    .getByText(/North/)
    .first()
    .waitFor();
  await shot(page, "local-offline");
  await page.keyboard.press("Escape");
  await page.reload();
  await page
    .getByRole("article", { name: "Question: total amount by region" })
    .getByText("North")
    .first()
    .waitFor({ timeout: 60_000 });
  await page.done();
});

const people = Array.from({ length: 40 }, (_, i) => ({
  name: `Zanzibar${i}q Okonkwo${i}q`,
  city: `Ouagadougou${i % 4}q`,
  salary: 7_310_011 + i * 1_009,
}));
const salaries = {
  name: "staff.csv",
  mimeType: "text/csv",
  buffer: Buffer.from(["name,city,salary", ...people.map((p) => `${p.name},${p.city},${p.salary}`)].join("\n")),
};

test("no cell of a file leaves the browser, whatever the question", async () => {
  const page = await open(server.url, { allow: [/Failed to load resource/] });
  const leaves = record(page);
  const chosen = page.waitForEvent("filechooser");
  await page.getByRole("button", { name: "Add file", exact: true }).click();
  await page.getByRole("menuitem", { name: /Open in this browser/ }).click();
  await (await chosen).setFiles(salaries);
  await page.getByText("40 rows").waitFor({ timeout: 60_000 });
  await page.getByText(/name, city, salary. No values/).waitFor();
  await shot(page, "local-goes");
  for (const question of [
    "salary by name",
    "average salary by city",
    "top 5 names by salary",
    "who has the highest salary?",
    "different cities",
    "SELECT CAST(name AS INTEGER) FROM staff",
    "SELECT error(name) FROM staff",
    "PIVOT staff ON city USING sum(salary)",
    "SELECT nosuch FROM (PIVOT staff ON name USING sum(salary))",
    "SELECT salary::TINYINT FROM staff",
  ]) {
    await ask(page, question);
  }
  const turn = page.getByRole("article", { name: "Question: salary by name" });
  await turn.getByText("Zanzibar").first().waitFor();
  await turn.getByRole("button", { name: "Good answer" }).click();
  await page.keyboard.press("Escape");
  await turn
    .getByRole("button", { name: /^(salary by name|Result 1)/ })
    .first()
    .click();
  await page.getByRole("tab", { name: "Table" }).click();
  await page
    .getByRole("gridcell", { name: /Zanzibar/ })
    .first()
    .waitFor();
  const saved = page.waitForEvent("download");
  await page.getByRole("button", { name: "Download" }).click();
  await page.getByRole("menuitem", { name: /CSV/ }).first().click();
  await saved;
  await page.reload();
  await page
    .getByRole("article", { name: "Question: salary by name" })
    .getByText("Zanzibar")
    .first()
    .waitFor({ timeout: 60_000 });
  const sent = leaves();
  assert.match(sent, /"rows":\[\]/, "no result was sent at all");
  for (const p of people) {
    for (const secret of [p.name.split(" ")[0], p.name.split(" ")[1], p.city, String(p.salary)])
      assert.ok(!sent.includes(secret), `${secret} left the browser`);
  }
  await page.done();
});
