// The chart page under load: 100,000 bars, 10,000 drawings.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { market } from "./chart.js";
import { close, open, serve, shot } from "./harness.js";
import { assertShort, tasks, measureReference } from "./tasks.js";

let server;
before(async () => {
  server = await serve();
  await market(server);
});
after(async () => {
  await server?.stop();
  await close();
});

/** Waits until the page has rendered. */
const rest = (p) =>
  p.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));

/** Zooms with the wheel and pans by dragging. */
async function wander(p) {
  const box = await p.locator(".chart-plot").boundingBox();
  const y = box.y + 300;
  await p.mouse.move(box.x + 400, y);
  for (let i = 0; i < 30; i++) await p.mouse.wheel(0, 200);
  for (let i = 0; i < 30; i++) {
    await p.mouse.wheel(-3000, 0);
    await rest(p);
  }
  for (let i = 0; i < 10; i++) {
    await p.mouse.move(box.x + 150, y);
    await p.mouse.down();
    for (let x = 150; x < 900; x += 75) await p.mouse.move(box.x + x, y);
    await p.mouse.up();
    await rest(p);
  }
}

/** Generates 100,000 one-minute bars in the server's format. */
function history(n) {
  const all = { time: [], open: [], high: [], low: [], close: [], volume: [] };
  const end = Math.floor(Date.now() / 60_000) * 60;
  let seed = 7,
    price = 1.1;
  const random = () => (seed = (seed * 48271) % 2147483647) / 2147483647;
  for (let i = 0; i < n; i++) {
    const next = Math.max(0.5, price + (random() - 0.5) * 0.0006);
    all.time.push(end - (n - i) * 60);
    all.open.push(price);
    all.close.push(next);
    all.high.push(Math.max(price, next) + random() * 0.0002);
    all.low.push(Math.min(price, next) - random() * 0.0002);
    all.volume.push(Math.round(random() * 500));
    price = next;
  }
  return all;
}

test("scrolling 100,000 bars causes no long tasks", async () => {
  const all = history(100_000);
  const p = await open(server.url);
  let given = 0;
  await p.route("**/api/market/candles?**", (route) => {
    const q = new URL(route.request().url()).searchParams;
    const before = Number(q.get("to") ?? Infinity);
    let to = all.time.length;
    while (to > 0 && all.time[to - 1] >= before) to--;
    const from = Math.max(0, to - Number(q.get("limit")));
    given += to - from;
    const some = Object.fromEntries(Object.entries(all).map(([k, v]) => [k, v.slice(from, to)]));
    return route.fulfill({ json: { symbol: "EURUSD", timeframe: "1m", ...some, partial: false, synthetic: true } });
  });
  const first = await tasks(p, async () => {
    await p.goto(`${server.url}/chart/EURUSD/1m`);
    await p.locator("[data-readout]").waitFor();
    await rest(p);
  });
  const moving = await tasks(p, async () => {
    for (let i = 0; i < 3 || (given < 100_000 && i < 20); i++) await wander(p);
  });
  await shot(p, "chart-100000");
  assert.equal(given, 100_000);
  const unit = await measureReference(p);
  assertShort(first, unit, 1, "a chart opens");
  assertShort(moving, unit, 0.5, "a hundred thousand bars");
  await p.done();
});

test("the chart still moves with 10,000 drawings", async () => {
  const { time, low, high } = await (
    await fetch(`${server.url}/api/market/candles?symbol=EURUSD&timeframe=1h&limit=3000`)
  ).json();
  const types = ["trendline", "rectangle", "horizontal_ray", "marker", "fibonacci"];
  const drawings = Array.from({ length: 10_000 }, (_, i) => {
    const at = (i * 7) % (time.length - 30);
    const type = types[i % types.length];
    const anchors = [
      { time: time[at], price: low[at] },
      { time: time[at + 20], price: high[at + 20] },
    ].slice(0, type === "horizontal_ray" || type === "marker" ? 1 : 2);
    return { id: `many-${i}`, type, symbol: "EURUSD", timeframe: "1h", anchors };
  });
  const res = await fetch(`${server.url}/api/drawings/import`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ format: "footnote-drawings-1", symbol: "EURUSD", drawings }),
  });
  assert.equal(res.status, 200, await res.text());
  const p = await open(`${server.url}/chart/EURUSD/1h`);
  await p.locator("[data-readout]").waitFor();
  await p.getByRole("button", { name: "Drawings", exact: true }).click();
  await p.getByRole("tab", { name: "Drawings" }).waitFor();
  await p
    .locator("aside")
    .getByRole("button", { name: /^Trend line/ })
    .first()
    .waitFor();
  const box = await p.locator(".chart-plot").boundingBox();
  const moving = await tasks(p, async () => {
    for (let k = 0; k < 4; k++) {
      await p.mouse.move(box.x + 100, box.y + 300);
      await p.mouse.down();
      for (let x = 100; x < 600; x += 25) await p.mouse.move(box.x + x, box.y + 300);
      await p.mouse.up();
      await rest(p);
    }
  });
  await shot(p, "chart-10000");
  assertShort(moving, await measureReference(p), 2, "ten thousand drawings");
  await p.done();
});
