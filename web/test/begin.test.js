// Every assistant offers something to begin with, which one click asks.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { answered, close, desktop, open, phone, serve } from "./harness.js";
import { inBoth } from "./look.js";

let server;
before(async () => (server = await serve()));
after(async () => {
  await close();
  await server?.stop();
});

const examples = (page) => page.getByRole("region", { name: "Questions to begin with" }).getByRole("listitem");

/** Opens the start page with an assistant chosen. */
async function begin(assistant, viewport) {
  const p = await open(server.url, { viewport });
  await p.getByRole("button", { name: "Analyst" }).click();
  await p.getByRole("menuitemradio", { name: new RegExp(`^${assistant}`) }).click();
  await examples(p).first().waitFor();
  return p;
}

/** Asks each example in a new conversation and returns the answers. */
async function askAll(assistant, answer) {
  const p = await begin(assistant);
  const texts = await examples(p).allInnerTexts();
  await p.done();
  const answers = [];
  for (const text of texts) {
    const p = await begin(assistant);
    await examples(p).filter({ hasText: text }).getByRole("button").click();
    answers.push(await answer(p, text));
    await p.done();
  }
  return answers;
}

for (const [width, viewport] of [
  [1440, desktop],
  [390, phone],
])
  test(`the coder and local files offer examples, at ${width}`, async () => {
    for (const assistant of ["Coder", "Local files"]) {
      const p = await begin(assistant, viewport);
      await inBoth(p, `begin-${assistant.split(" ")[0].toLowerCase()}`, width);
      await p.done();
    }
  });

test("the coder carries out each of its examples", async () => {
  const texts = await askAll("Coder", async (p, text) => {
    const allow = p.getByRole("group", { name: "Approval" }).getByRole("button", { name: "Allow once" });
    if (/^(Write|Run) /.test(text)) await allow.click();
    return (await answered(p, text)).innerText();
  });
  assert.equal(texts.length, 4);
  for (const t of texts) assert.doesNotMatch(t, /did not understand|could not/);
});

test("each example about local files has an answer, from a sample file", async () => {
  const texts = await askAll("Local files", async (p, text) => {
    const turn = await answered(p, text);
    await turn.getByText("No values were sent").waitFor();
    return turn.innerText();
  });
  assert.equal(texts.length, 4);
});

test("an open file gets questions about its own columns", async () => {
  const p = await begin("Local files");
  const name = "parcels.csv";
  const rows = "sent,town,carrier,weight_kg\n2026-01-03,Ulm,Red,2.5\n2026-02-07,Bonn,Blue,4\n2026-02-09,Ulm,Blue,1.5\n";
  await p
    .getByLabel("File to open")
    .first()
    .setInputFiles({ name, mimeType: "text/csv", buffer: Buffer.from(rows) });
  await examples(p).filter({ hasText: "Total weight kg by town" }).waitFor();
  const texts = await examples(p).allInnerTexts();
  assert.deepEqual(texts, [
    "Total weight kg by town",
    "Total weight kg by month",
    "Average weight kg by carrier",
    "How many rows are in parcels?",
    "Number of rows by town",
  ]);
  for (const text of texts) {
    await examples(p).filter({ hasText: text }).getByRole("button").click();
    await (await answered(p, text)).getByText("No values were sent").waitFor();
    await p.getByRole("link", { name: "New question", exact: true }).click();
  }
  await p.done();
});
