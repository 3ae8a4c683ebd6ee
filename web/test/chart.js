// Helpers for the chart page tests.
import assert from "node:assert/strict";
import { open } from "./harness.js";

/** The demo generates its market when it starts, which may take a while. */
export const market = (server) =>
  until(
    async () => (await fetch(`${server.url}/api/market/symbols`)).status,
    (s) => s === 200,
    "the market is there",
  );

/** Opens a chart and waits for its bars. */
export async function chart(server, symbol, { timeframe = "1h", talk, ...options } = {}) {
  await market(server);
  const p = await open(`${server.url}/chart/${symbol}/${timeframe}${talk ? `?talk=${talk}` : ""}`, options);
  await ready(p);
  return p;
}

export async function ready(p) {
  await p.locator("[data-readout]").waitFor({ timeout: 60_000 }); // long enough for a busy machine
  await p.locator("[data-ready]").waitFor();
}

export const plot = (p) => p.locator(".chart-plot");

export const spot = async (p, x, y) => {
  const box = await plot(p).boundingBox();
  return [box.x + x, box.y + y];
};

/** Clicks on the chart after moving the pointer there. */
export async function click(p, x, y, options) {
  const at = await spot(p, x, y);
  await p.mouse.move(at[0] - 3, at[1]);
  await p.mouse.move(...at);
  await p.mouse.down(options);
  await p.mouse.up(options);
}

export async function drag(p, from, to) {
  await p.mouse.move(...(await spot(p, ...from)));
  await p.mouse.down();
  const [x, y] = await spot(p, ...to);
  const [a, b] = await spot(p, ...from);
  for (let i = 1; i <= 6; i++) await p.mouse.move(a + ((x - a) * i) / 6, b + ((y - b) * i) / 6);
  await p.mouse.up();
}

export const tool = (p, name) => p.getByRole("button", { name: new RegExp(`^${name}( \\(|$)`) }).click();

/** Turns the magnet off, so that points stay where they are set. */
export const free = (p) => tool(p, "Magnet: snap points to open, high, low and close");

export const read = async (server, path) => (await fetch(`${server.url}${path}`)).json();
export const saved = async (server, symbol = "EURUSD") =>
  (await read(server, `/api/drawings?symbol=${symbol}`)).drawings;
export const trail = async (server, symbol = "EURUSD") =>
  (await read(server, `/api/drawings/history?symbol=${symbol}`)).changes;

/** Replaces all drawings. */
export async function bring(server, symbol, ...drawings) {
  const res = await fetch(`${server.url}/api/drawings/import`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({
      format: "footnote-drawings-1",
      symbol,
      replace: true,
      drawings: drawings.map((d) => ({ symbol, timeframe: "1h", ...d })),
    }),
  });
  assert.equal(res.status, 200, await res.text());
}

/** Waits until a condition holds. */
export async function until(get, ok, what) {
  for (const end = Date.now() + 60_000; ;) {
    const got = await get();
    if (ok(got)) return got;
    if (Date.now() > end) assert.fail(`${what}: ${JSON.stringify(got)}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

/** Reports whether a CSS colour is visible near a point. */
export async function painted(p, x, y, color, around = 4) {
  const [px, py] = await spot(p, x, y);
  const png = await p.screenshot({
    clip: { x: px - around, y: py - around, width: 2 * around + 1, height: 2 * around + 1 },
  });
  return p.evaluate(
    async ({ data, color }) => {
      const c = new OffscreenCanvas(1, 1).getContext("2d");
      c.fillStyle = color;
      c.fillRect(0, 0, 1, 1);
      const want = c.getImageData(0, 0, 1, 1).data;
      const img = await createImageBitmap(
        new Blob([Uint8Array.from(atob(data), (s) => s.charCodeAt(0))], { type: "image/png" }),
      );
      const s = new OffscreenCanvas(img.width, img.height).getContext("2d");
      s.drawImage(img, 0, 0);
      const d = s.getImageData(0, 0, img.width, img.height).data;
      for (let i = 0; i < d.length; i += 4) if ([0, 1, 2].every((j) => Math.abs(d[i + j] - want[j]) < 44)) return true;
      return false;
    },
    { data: png.toString("base64"), color },
  );
}
