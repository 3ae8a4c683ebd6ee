// Long words, right-to-left text, text that looks like code, the scroll position after a
// reload, and printing.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { answered, ask, close, desktop, open, phone, serve, serveModel, shot } from "./harness.js";
import { check } from "./look.js";

let server, model;
before(async () => ([server, model] = await Promise.all([serve(), serveModel()])));
after(async () => {
  await server?.stop();
  await model?.stop();
  await close();
});

const wide = (p) => p.evaluate(() => document.documentElement.scrollWidth - innerWidth);

for (const [width, viewport] of Object.entries({ 1440: desktop, 390: phone })) {
  test(`text that looks like code stays text, and Hebrew runs from right to left, at ${width}`, async () => {
    const p = await open(model.url, { viewport });
    const question = "כמה הזמנות יש? <img src=x onerror=alert(1)> **b** [x](javascript:alert(1))";
    await p.getByRole("textbox", { name: "Your question" }).fill(question);
    assert.equal(
      await p.getByRole("textbox", { name: "Your question" }).evaluate((el) => getComputedStyle(el).direction),
      "rtl",
    );
    await p.getByRole("button", { name: "Send" }).click();
    const turn = await answered(p, question);
    await turn.getByText("יש 846").waitFor();
    assert.equal(await turn.locator(".prose").evaluate((el) => getComputedStyle(el).direction), "rtl");
    assert.equal(await turn.getByText("כמה הזמנות יש").evaluate((el) => getComputedStyle(el).direction), "rtl");
    await p.getByRole("button", { name: /^1 query/ }).click();
    await p.getByRole("button", { name: /^Running a query/ }).click();
    // Even long words stay inside their boxes.
    const over = await turn.evaluate((el) =>
      [...el.querySelectorAll("pre, h2, p, li")]
        .filter((e) => e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).textOverflow !== "ellipsis")
        .map((e) => e.textContent.slice(0, 40)),
    );
    assert.deepEqual(over, []);
    assert.equal(await wide(p), 0);
    assert.equal(await turn.locator("img, script, a[href^=javascript]").count(), 0);
    await check(p, `hebrew-${width}`);
    await p.done();
  });
}

test("a long question is folded, and its answer is in view", async () => {
  for (const viewport of [desktop, phone]) {
    const p = await open(server.url, { viewport });
    const question = `How many orders are there? ${"Say it plainly and do not leave anything out. ".repeat(25).trim()}`;
    await p.getByRole("textbox", { name: "Your question" }).fill(question);
    await p.getByRole("button", { name: "Send" }).click();
    await answered(p, question.slice(0, 80)); // the part that the name contains
    const more = p.getByRole("button", { name: "Show the whole question" });
    await more.waitFor();
    const box = await p.getByRole("article").locator(".prose").first().boundingBox();
    assert.ok(box.y < viewport.height * 0.6, `the answer begins at ${box.y}`);
    await shot(p, `long-question-${viewport.width}`);
    await more.click();
    await p.getByRole("button", { name: "Show less" }).waitFor();
    await p.done();
  }
});

test("a reload keeps the reader's place, and a new question is shown", async () => {
  const p = await open(server.url, { viewport: { width: 1000, height: 600 } });
  for (const q of [
    "Revenue by month",
    "How many orders are there?",
    "Share of orders by status",
    "How many customers are there?",
  ])
    await ask(p, q);
  const scroller = p.getByRole("log").locator("..");
  const table = p.getByRole("article", { name: "Question: Revenue by month" }).getByRole("table");
  await scroller.evaluate((el) => (el.scrollTop = 210));
  const before = (await table.boundingBox()).y;
  await p.reload();
  await answered(p, "How many customers are there?");
  await p.waitForFunction(
    (y) => Math.abs(document.querySelector("article table")?.getBoundingClientRect().y - y) < 2,
    before,
  );
  await ask(p, "How many products are there?");
  const newest = await p.getByRole("article", { name: "Question: How many products are there?" }).boundingBox();
  assert.ok(newest.y >= 0 && newest.y < 200, `the new question stands at ${newest.y}`);
  await p.done();
});

test("a printout has the whole conversation and no buttons", async () => {
  const p = await open(server.url, { theme: "dark" });
  for (const q of ["Revenue by month", "How many orders are there?", "Share of orders by status"]) await ask(p, q);
  await p.emulateMedia({ media: "print" });
  await p.getByRole("textbox", { name: "Your question" }).waitFor({ state: "hidden" });
  await p.getByRole("navigation", { name: "Conversations" }).waitFor({ state: "hidden" });
  const paper = await p.evaluate(() => ({
    cut: [...document.querySelectorAll("article")].some((el) => {
      for (let e = el; e; e = e.parentElement)
        if (
          e.scrollHeight > e.clientHeight + 1 &&
          getComputedStyle(e).overflowY !== "visible" &&
          e !== document.documentElement
        )
          return true;
    }),
    dark: getComputedStyle(document.documentElement).colorScheme,
  }));
  assert.deepEqual(paper, { cut: false, dark: "light" });
  await shot(p, "print");
  await p.done();
});
