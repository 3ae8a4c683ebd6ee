// Several sources: an uploaded file is queried alone, and if two sources fit, the page asks
// which one is meant.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { answered, ask, close, desktop, open, phone, serve } from "./harness.js";
import { inBoth } from "./look.js";

let server;
before(async () => (server = await serve()));
after(async () => {
  await close();
  await server?.stop();
});

const csv = (name, rows) => ({ name, mimeType: "text/csv", buffer: Buffer.from(rows.join("\n")) });
const sales = csv("sales.csv", [
  "region,product,units,revenue",
  "North,Lamp,4,80",
  "South,Lamp,1,20",
  "South,Desk,2,300",
]);
const visits = csv("visits.csv", ["page,visitors", "home,5", "about,2"]);

async function upload(p, file) {
  await p.getByRole("button", { name: "Add file", exact: true }).click();
  await p.getByRole("menuitem", { name: "Upload to the server" }).click();
  await p.getByLabel("File to upload").setInputFiles(file);
  await p.getByRole("status").getByText("is ready").waitFor({ timeout: 60_000 });
}

const picker = (p, name) => p.getByRole("button", { name, exact: true });
const home = (p) => p.getByRole("link", { name: "New question", exact: true }).click();

// Appends rows to the upload "visits", replaces it, and deletes it, in the data browser.
async function changeUpload(p) {
  const change = async (item, label, file) => {
    await p.getByRole("button", { name: "Change visits", exact: true }).click();
    await p.getByRole("menuitem", { name: item }).click();
    if (file) await p.getByLabel(label, { exact: true }).setInputFiles(file);
  };
  await p.getByRole("button", { name: "Browse data", exact: true }).click();
  const visits = p.getByRole("region", { name: "visits", exact: true });
  await visits.getByText("2 rows").first().waitFor();
  await change("Append rows", "Rows for visits", csv("more.csv", ["page,people", "home,5"]));
  await visits.getByRole("alert").getByText("people").waitFor();
  await inBoth(p, "sources-append", 1440);
  await change("Append rows", "Rows for visits", csv("more.csv", ["page,visitors", "jobs,9"]));
  await visits.getByText("3 rows").first().waitFor();
  assert.equal(await visits.getByRole("alert").count(), 0);
  await change("Replace", "File that replaces visits", csv("new.csv", ["page,minutes", "home,7"]));
  await visits.getByText("1 row", { exact: true }).first().waitFor();
  await visits.getByRole("button", { name: /^visits/ }).click();
  await visits.getByText("minutes").first().waitFor();
  await change("Delete");
  const dialog = p.getByRole("dialog", { name: "Delete visits?" });
  await inBoth(p, "sources-delete", 1440);
  await dialog.getByRole("button", { name: "Delete", exact: true }).click();
  await visits.waitFor({ state: "detached" });
}

test("an uploaded file can be asked about, changed and deleted, also after a reload", async () => {
  const p = await open(server.url, { allow: [/status of 400/] }); // rows with other columns are refused
  await picker(p, "market").or(picker(p, "shop")).or(picker(p, "All data")).first().waitFor();
  await upload(p, sales);
  await picker(p, "sales").waitFor();
  await p
    .getByRole("button", { name: /units|revenue|region/i })
    .first()
    .waitFor(); // suggestions of the file
  let turn = await ask(p, "total units by product").then(() => p.getByRole("article").last());
  await turn.getByText("from sales", { exact: true }).waitFor();
  await home(p);
  await upload(p, visits);
  await picker(p, "visits").waitFor();
  await p.reload();
  await picker(p, "visits").waitFor();
  await ask(p, "visitors by page");
  turn = p.getByRole("article").last();
  await turn.getByText("from visits", { exact: true }).waitFor();
  await home(p);
  await picker(p, "visits").waitFor();
  await changeUpload(p);
  await p.reload();
  await picker(p, "All data").waitFor();
  assert.equal(await p.getByRole("alert").count(), 0);
  await p.done();
});

test("if two sources fit, the page asks which one is meant", async () => {
  for (const [width, viewport] of Object.entries({ 1440: desktop, 390: phone })) {
    const p = await open(server.url, { viewport });
    await picker(p, "All data").waitFor();
    await ask(p, "total units by product");
    const which = p.getByRole("group", { name: "Ask which source" });
    await which.getByRole("button", { name: "sales", exact: true }).waitFor();
    await inBoth(p, "sources-which", Number(width));
    await which.getByRole("button", { name: "sales", exact: true }).click();
    const turn = await answered(p, "sales");
    await turn.getByText("Source: sales.").waitFor();
    await turn.getByText("from sales", { exact: true }).waitFor();
    await inBoth(p, "sources-answer", Number(width));
    await p.getByRole("textbox", { name: "Your question" }).fill("total revenue by region");
    await p.getByRole("button", { name: "Send", exact: true }).click();
    await (await answered(p, "total revenue by region")).getByText("from sales", { exact: true }).waitFor();
    await p.done();
  }
});
