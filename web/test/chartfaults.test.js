// The chart page during outages of the market database, the price feed and the server. No
// drawing is lost, and the page says what is unavailable.
import assert from "node:assert/strict";
import { copyFile, mkdtemp, open as openFile, rm } from "node:fs/promises";
import http from "node:http";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, test } from "node:test";
import { bring, chart, click, free, plot, read, ready, saved, tool, trail, until } from "./chart.js";
import { ask, close, open, serve, shot } from "./harness.js";

after(close);

const folder = () => mkdtemp(path.join(tmpdir(), "footnote-web-"));

/** A price feed that can be cut off. */
async function feed() {
  let price = 1.2;
  const readers = new Set();
  const server = http.createServer((req, res) => {
    res.writeHead(200, { "Content-Type": "text/event-stream" });
    res.flushHeaders();
    readers.add(res);
    res.on("close", () => readers.delete(res));
  });
  const tick = setInterval(() => {
    price += 0.00001;
    for (const r of readers)
      r.write(`data: ${JSON.stringify({ symbol: "EURUSD", bid: price, ask: price + 0.0002 })}\n\n`);
  }, 200);
  const listen = (port) => new Promise((resolve) => server.listen(port, "127.0.0.1", resolve));
  await listen(0);
  const { port } = server.address();
  const cut = () => new Promise((resolve) => (server.closeAllConnections(), server.close(resolve)));
  return {
    url: `http://127.0.0.1:${port}`,
    cut,
    mend: () => listen(port),
    stop: () => (clearInterval(tick), server.listening && cut()),
  };
}

test("a restart loses no drawings and no history", async () => {
  const data = await folder();
  const first = await serve({ data });
  let p = await chart(first, "EURUSD");
  await ask(p, "Draw support and resistance");
  await free(p);
  await tool(p, "Rectangle");
  await click(p, 400, 300);
  await click(p, 500, 360);
  await until(
    () => saved(first),
    (d) => d.length === 3,
    "all is saved",
  );
  await plot(p).press("Control+d");
  const before = await until(
    () => saved(first),
    (d) => d.length === 4,
    "and a copy",
  );
  const said = await trail(first);
  const talk = new URL(p.url()).searchParams.get("talk");
  await p.done();
  await first.stop("SIGKILL");

  const second = await serve({ data });
  try {
    assert.deepEqual(await saved(second), before);
    assert.deepEqual(await trail(second), said);
    p = await chart(second, "EURUSD", { talk });
    await p.getByRole("article", { name: "Question: Draw support and resistance" }).waitFor();
    await p.getByRole("region", { name: /^Drew Support at/ }).waitFor();
    await p.getByRole("button", { name: "Drawings", exact: true }).click();
    await p.getByRole("tab", { name: "Trail" }).click();
    await p
      .locator("aside li")
      .filter({ hasText: "Drew Support" })
      .getByText(/^because/)
      .waitFor();
    assert.equal(await p.locator("aside li").filter({ hasText: "Drew Rectangle" }).count(), 2);
    await p.done();
  } finally {
    await second.stop();
    await rm(data, { recursive: true, force: true });
  }
});

test("an open page continues after the server restarts", async () => {
  const data = await folder();
  let server = await serve({ data });
  const listen = new URL(server.url).host;
  try {
    const p = await chart(server, "GBPUSD", { allow: [/./] }); // the connection drops, which the console reports
    await server.stop("SIGKILL");
    await free(p);
    await tool(p, "Horizontal line");
    await click(p, 300, 220);
    await p.getByText(/Not saved yet/).waitFor();
    server = await serve({ data, listen });
    await until(
      () => saved(server, "GBPUSD"),
      (d) => d.length === 1,
      "it is saved once the server is back",
    );
    await p.getByText(/Not saved yet/).waitFor({ state: "detached" });
    await p.locator('[data-live="on"]').waitFor({ timeout: 60_000 });
    await p.done();
  } finally {
    await server.stop();
    await rm(data, { recursive: true, force: true });
  }
});

test("without its feed the chart has no live price and says so, and the chat answers", async () => {
  const prices = await feed();
  const server = await serve({ env: { FOOTNOTE_MARKET_FEED: prices.url } });
  try {
    const p = await chart(server, "EURUSD");
    await p.locator('[data-live="on"]').waitFor({ timeout: 60_000 });
    await prices.cut();
    const down = p.locator('[data-live="down"]');
    await down.waitFor({ timeout: 60_000 });
    assert.match(await down.innerText(), /^No live price: The price feed is down/);
    await ask(p, "What is the price?");
    const said = await p.getByRole("article", { name: "Question: What is the price?" }).innerText();
    assert.match(said, /price feed is down/);
    await shot(p, "chart-no-feed");
    await prices.mend();
    await p.locator('[data-live="on"]').waitFor({ timeout: 60_000 });
    await p.done();
  } finally {
    await server.stop();
    await prices.stop();
  }
});

test("when the market's database dies, the chart stays and the chat says what is unavailable", async () => {
  const data = await folder();
  const server = await serve({ data });
  const file = path.join(data, "demo-market.db");
  try {
    const line = { id: "kept", type: "horizontal_line", price: 1.14, label: "Kept" };
    const p = await chart(server, "EURUSD", { allow: [/503/] });
    await bring(server, "EURUSD", line);
    await copyFile(file, `${file}.kept`);
    await overwrite(file);
    await until(
      async () => (await fetch(`${server.url}/api/market/candles?symbol=EURUSD&timeframe=4h`)).status,
      (s) => s === 503,
      "the database is dead",
    );
    // The visible bars stay, and the drawings come from the server's own store.
    await p.getByRole("button", { name: "Drawings", exact: true }).click();
    await p.locator("aside").getByRole("button", { name: /^Kept/ }).waitFor();
    await p.locator('[data-live="down"]').waitFor({ timeout: 60_000 });
    await ask(p, "Draw support and resistance");
    assert.match(await p.getByRole("article", { name: /Draw support/ }).innerText(), /market database is down/);
    assert.deepEqual(
      (await saved(server)).map((d) => d.label),
      ["Kept"],
    );
    // Another timeframe has no bars; the page says so in their place, with a retry button.
    await p.getByRole("button", { name: "4h", exact: true }).click();
    await p.getByRole("alert").filter({ hasText: "market database is down" }).waitFor();
    await shot(p, "chart-no-database");
    await copyFile(`${file}.kept`, file);
    await until(
      async () => {
        await p
          .getByRole("button", { name: "Try again" })
          .click({ timeout: 1000 })
          .catch(() => {});
        return p.locator("[data-readout]").count();
      },
      (n) => n > 0,
      "it is back",
    );
    await p.done();
  } finally {
    await server.stop();
    await rm(data, { recursive: true, force: true });
  }
});

/** Overwrites a database file with garbage. */
async function overwrite(file) {
  const f = await openFile(file, "r+");
  await f.write(Buffer.alloc(1 << 16, 0x5a), 0, 1 << 16, 0);
  await f.truncate(1 << 16);
  await f.close();
}
