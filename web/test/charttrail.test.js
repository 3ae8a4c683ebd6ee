// The chart page during bulk changes, when saving fails, and when input is rejected.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { close, open, phone, serve } from "./harness.js";
import { check } from "./look.js";

let server;
before(async () => (server = await serve()));
after(async () => {
  await server?.stop();
  await close();
});

async function chart(symbol, options) {
  const p = await open(`${server.url}/chart/${symbol}/1h`, options);
  await ready(p);
  return p;
}

async function ready(p) {
  await p.locator("[data-readout]").waitFor();
  await p.locator("[data-ready]").waitFor();
}

const post = async (path, body) => {
  const res = await fetch(server.url + path, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body),
  });
  const text = await res.text();
  assert.equal(res.status, 200, text);
  return JSON.parse(text);
};

const saved = async (symbol) => (await (await fetch(`${server.url}/api/drawings?symbol=${symbol}`)).json()).drawings;

/** Waits until the server has what a test expects. */
async function until(get, ok, what) {
  for (const end = Date.now() + 60_000; ;) {
    const got = await get();
    if (ok(got)) return got;
    if (Date.now() > end) assert.fail(`${what}: ${JSON.stringify(got).slice(0, 500)}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

const drawn = (symbol, n) =>
  until(
    () => saved(symbol),
    (all) => all.length === n,
    `not ${n} drawings`,
  );
const candles = (symbol) =>
  until(
    async () => (await fetch(`${server.url}/api/market/candles?symbol=${symbol}&timeframe=1h&limit=500`)).json(),
    (c) => c.time,
    "candles",
  );

const side = async (p, tab) => {
  await p.getByRole("button", { name: "Drawings", exact: true }).click();
  await p.getByRole("tab", { name: tab }).click();
};

test("an import of thousands is rendered a few times only, and is undone from any of its entries", async () => {
  const { time, low } = await candles("XAUUSD");
  const drawings = Array.from({ length: 3000 }, (_, i) => ({
    type: "trendline",
    symbol: "XAUUSD",
    timeframe: "1h",
    anchors: [
      { time: time[i % 400], price: low[i % 400] },
      { time: time[(i % 400) + 20], price: low[(i % 400) + 20] },
    ],
  }));
  const p = await chart("XAUUSD");
  await side(p, "Drawings");
  // The list's height follows its rows, so each rendering with more rows counts as one change.
  const list = p.locator("#side-panel ul");
  await list.evaluate((el) => {
    window.renderings = 0;
    new MutationObserver(() => window.renderings++).observe(el, { attributes: true, attributeFilter: ["style"] });
  });
  await post("/api/drawings/import", { format: "footnote-drawings-1", symbol: "XAUUSD", drawings });
  await p.waitForFunction(
    () => parseFloat(document.querySelector("#side-panel ul").style.height) >= 3000 * 44,
    undefined,
    { timeout: 60_000 },
  );
  const renderings = await p.evaluate(() => window.renderings);
  assert.ok(renderings < 300, `${renderings} renderings for 3000 changes`);
  await p.getByRole("tab", { name: "Trail" }).click();
  const entries = p.getByRole("list", { name: /^Changes/ }).getByRole("listitem");
  await entries.nth(0).getByRole("button", { name: "Undo the import" }).click();
  await drawn("XAUUSD", 0);
  await entries.filter({ hasText: "Undid" }).first().waitFor();
  assert.equal(await p.getByRole("alert").count(), 0);
  await p.done();
});

test("a drawing that could not be saved survives a reload, which needs confirmation", async () => {
  const p = await chart("GBPUSD", { allow: [/503/, /Service Unavailable/] });
  await p.route("**/api/drawings", (r) =>
    r.request().method() === "POST"
      ? r.fulfill({ status: 503, json: { error: { code: "unavailable", message: "The store is down." } } })
      : r.continue(),
  );
  await p.getByRole("button", { name: /^Horizontal line \(/ }).click();
  const box = await p.locator(".chart-plot").boundingBox();
  await p.mouse.click(box.x + 300, box.y + 250);
  await p.getByText(/^Not saved yet/).waitFor();
  assert.equal((await saved("GBPUSD")).length, 0);
  const asked = new Promise((resolve) => p.once("dialog", (d) => (resolve(d.type()), d.accept())));
  await p.reload();
  assert.equal(await asked, "beforeunload");
  await ready(p);
  await p.unroute("**/api/drawings");
  const [line] = await drawn("GBPUSD", 1);
  assert.equal(line.type, "horizontal_line");
  await side(p, "Drawings");
  await p.getByText("Horizontal line").first().waitFor();
  await p.done();
});

test("refused input stays in its field, with the reason", async () => {
  const { close: prices } = await candles("USDJPY");
  const { drawing } = await post("/api/drawings", {
    symbol: "USDJPY",
    drawing: { symbol: "USDJPY", timeframe: "1h", type: "horizontal_line", price: prices.at(-1), label: "Mine" },
  });
  const p = await chart("USDJPY", { allow: [/400/, /409/] });
  await side(p, "Drawings");
  await p.getByRole("button", { name: /^Mine/ }).dblclick();
  const dialog = p.getByRole("dialog", { name: "Horizontal line" });
  const price = dialog.getByRole("spinbutton", { name: "Price" });
  await dialog.getByRole("textbox", { name: "Why it matters" }).fill("Three lows stand at it.");
  await price.fill("0");
  await dialog.getByRole("button", { name: "Save" }).click();
  await dialog.getByRole("alert").waitFor();
  assert.equal(await price.inputValue(), "0");
  assert.equal(await dialog.getByRole("textbox", { name: "Why it matters" }).inputValue(), "Three lows stand at it.");
  assert.equal((await saved("USDJPY"))[0].price, drawing.price);
  // A field can be cleared. Overwriting another person's change needs confirmation.
  await price.fill("");
  assert.equal(await price.inputValue(), "");
  const next = Number((drawing.price + 0.5).toFixed(3));
  await price.fill(String(next));
  const { version: _v, created: _c, changed: _g, ...theirs } = drawing;
  await post("/api/drawings", {
    symbol: "USDJPY",
    drawing: { ...theirs, label: "Theirs", price: Number((drawing.price - 0.5).toFixed(3)) },
  });
  await dialog.getByRole("button", { name: "Save" }).click();
  await dialog
    .getByRole("alert")
    .getByText(/^The drawing was changed elsewhere/)
    .waitFor();
  await until(
    () => dialog.getByRole("textbox", { name: "Label" }).inputValue(),
    (label) => label === "Theirs",
    "what is there now is shown",
  );
  assert.equal(await price.inputValue(), String(next));
  await dialog.getByRole("button", { name: "Save" }).click();
  await dialog.waitFor({ state: "detached" });
  assert.deepEqual(
    (await saved("USDJPY")).map((d) => [d.label, d.price, d.notes]),
    [["Theirs", next, "Three lows stand at it."]],
  );
  await p.done();
});

test("on a phone, a key moves to the chart, and a change is redone", async () => {
  const p = await chart("EURUSD", { viewport: phone });
  await p.keyboard.press("Tab");
  const skip = p.getByRole("link", { name: "Skip to the chart" });
  assert.ok(await skip.evaluate((el) => el === document.activeElement));
  await p.keyboard.press("Enter");
  await p.waitForFunction(() => document.activeElement?.matches(".chart-plot"));
  const { close: prices } = await candles("EURUSD");
  await post("/api/drawings", {
    symbol: "EURUSD",
    drawing: { symbol: "EURUSD", timeframe: "1h", type: "horizontal_line", price: prices.at(-1) },
  });
  for (const [what, n] of [
    ["Undo", 0],
    ["Redo", 1],
  ]) {
    await p.getByRole("button", { name: "More", exact: true }).click();
    await p.getByRole("menuitem", { name: what }).click();
    await drawn("EURUSD", n);
  }
  await check(p, "the chart on a phone");
  await p.done();
});
