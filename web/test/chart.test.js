// The chart page: bars, drawing by hand, the trail, a second device, and the suggestions
// that the offline planner carries out.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import {
  bring,
  chart as openChart,
  click,
  drag,
  free,
  market,
  painted,
  plot,
  read,
  ready,
  saved as ofServer,
  spot,
  tool,
  trail,
  until,
} from "./chart.js";
import { answered, close, desktop, phone, serve, shot } from "./harness.js";
import { check } from "./look.js";

let server;
before(async () => (server = await serve()));
after(async () => {
  await server?.stop();
  await close();
});

const chart = (symbol, options) => openChart(server, symbol, options);
const saved = (symbol) => ofServer(server, symbol);

test("a trend line made with two clicks survives a reload, is dragged and undone", async () => {
  const p = await chart("EURUSD");
  await free(p);
  await tool(p, "Trend line");
  await click(p, 200, 200);
  await click(p, 420, 320);
  const [drawn] = await until(
    () => saved("EURUSD"),
    (d) => d.length === 1,
    "the line is saved",
  );
  assert.equal(drawn.type, "trendline");
  assert.equal(drawn.created.by, "human");
  await p.reload();
  await ready(p);
  await p.getByRole("button", { name: "Drawings", exact: true }).click();
  await p
    .getByRole("button", { name: /^Trend line/ })
    .nth(1)
    .waitFor();
  await p.getByRole("button", { name: "Close", exact: true }).click();

  // Dragged by its middle, both ends move.
  await drag(p, [310, 260], [310, 200]);
  const [moved] = await until(
    () => saved("EURUSD"),
    (d) => d[0].version > drawn.version,
    "it has moved",
  );
  assert.ok(
    moved.anchors.every((a, i) => a.price > drawn.anchors[i].price && a.time === drawn.anchors[i].time),
    JSON.stringify({ moved, drawn }),
  );
  // Dragged by its first point, the other one stays.
  await drag(p, [200, 140], [200, 240]);
  const [turned] = await until(
    () => saved("EURUSD"),
    (d) => d[0].version > moved.version,
    "its point has moved",
  );
  assert.ok(turned.anchors[0].price < moved.anchors[0].price);
  assert.deepEqual(turned.anchors[1], moved.anchors[1]);

  await p.keyboard.press("Control+z");
  const [back] = await until(
    () => saved("EURUSD"),
    (d) => d[0]?.version > turned.version,
    "the drag is undone",
  );
  assert.deepEqual(back.anchors, moved.anchors);
  await p.keyboard.press("Control+Shift+z");
  const [again] = await until(
    () => saved("EURUSD"),
    (d) => d[0]?.version > back.version,
    "and done again",
  );
  assert.deepEqual(again.anchors, turned.anchors);
  await p.done();
});

test("the magnet snaps to a price of the bar", async () => {
  const p = await chart("GBPUSD");
  const bars = await read(server, "/api/market/candles?symbol=GBPUSD&timeframe=1h&limit=500");
  // The crosshair's readout shows the high of the bar.
  const x = 420;
  await p.mouse.move(...(await spot(p, x, 250)));
  await p.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
  const high = Number(await p.locator("[data-readout] dd").nth(1).textContent());
  assert.ok(bars.high.includes(high));
  const y = await p.evaluate(() => document.querySelector(".chart-plot").getBoundingClientRect().height);
  await tool(p, "Horizontal ray");
  // Move down until the magnet catches the high.
  let found = false;
  for (let at = 60; at < y * 0.7 && !found; at += 12) {
    await click(p, x, at);
    const drawn = await until(
      () => saved("GBPUSD"),
      (d) => d.length > 0,
      "the ray is saved",
    );
    found = drawn[0].anchors[0].price === high;
    if (found) break;
    await p.keyboard.press("Control+z");
    await until(
      () => saved("GBPUSD"),
      (d) => d.length === 0,
      "it is taken back",
    );
    await tool(p, "Horizontal ray");
  }
  assert.ok(found, "no ray went to the high");
  await p.done();
});

test("a drawing's text and style are edited; it is locked, hidden and deleted", async () => {
  const p = await chart("USDJPY");
  await free(p);
  await tool(p, "Horizontal line");
  await click(p, 300, 220);
  await until(
    () => saved("USDJPY"),
    (d) => d.length === 1,
    "the line is saved",
  );
  const bar = p.getByRole("toolbar", { name: "Horizontal line, selected" });
  await bar.getByRole("button", { name: "Colour" }).click();
  await p.getByRole("button", { name: "Violet", exact: true }).click();
  const [violet] = await until(
    () => saved("USDJPY"),
    (d) => d[0].color,
    "it is violet",
  );
  const seen = () => painted(p, 100, 220, violet.color);
  await until(seen, (is) => is, "the line is violet at its price");
  await bar.getByRole("button", { name: "Line style and width" }).click();
  await p.getByRole("menuitemradio", { name: "Dashed" }).click();
  await bar.getByRole("button", { name: /^Edit/ }).click();
  const dialog = p.getByRole("dialog", { name: "Horizontal line" });
  await dialog.getByLabel("Label").fill("Weekly high");
  await dialog.getByLabel("Why it matters").fill("Touched three times");
  await dialog.getByLabel("Tags, separated by commas").fill("resistance, weekly");
  await shot(p, "chart-edit");
  await dialog.getByRole("button", { name: "Save" }).click();
  const [d] = await until(
    () => saved("USDJPY"),
    (d) => d[0].notes,
    "the words are saved",
  );
  assert.equal(d.label, "Weekly high");
  assert.equal(d.lineStyle, "dashed");
  assert.deepEqual(d.tags, ["resistance", "weekly"]);

  await bar.getByRole("button", { name: "Lock" }).click();
  await until(
    () => saved("USDJPY"),
    (d) => d[0].locked,
    "it is locked",
  );
  await drag(p, [300, 220], [300, 300]); // does nothing
  assert.equal((await saved("USDJPY"))[0].price, d.price);
  await bar.getByRole("button", { name: "Unlock" }).click();
  await bar.getByRole("button", { name: "Hide" }).click();
  await until(
    () => saved("USDJPY"),
    (d) => d[0].hidden,
    "it is hidden",
  );
  await until(seen, (is) => !is, "a hidden line is not painted");
  await p.getByRole("button", { name: "Drawings", exact: true }).click();
  await p.getByRole("button", { name: "Show Weekly high" }).click();
  await until(
    () => saved("USDJPY"),
    (d) => !d[0].hidden,
    "it is shown",
  );
  await p.getByRole("tab", { name: "Trail" }).click();
  await p.getByText("Locked Weekly high", { exact: true }).waitFor();
  await p.getByRole("tab", { name: "Drawings" }).click();
  await p.getByRole("button", { name: "Delete Weekly high" }).click();
  await until(
    () => saved("USDJPY"),
    (d) => d.length === 0,
    "it is deleted",
  );
  await p.done();
});

test("every drawing tool draws", async () => {
  const p = await chart("XAUUSD");
  const two = ["Trend line", "Trend ray", "Arrow", "Extended line", "Fibonacci retracement", "Rectangle", "Circle"];
  const one = ["Horizontal line", "Horizontal ray", "Vertical line", "Marker", "Long position", "Short position"];
  let n = 0;
  for (const name of [...two, ...one]) {
    await tool(p, name);
    await click(p, 120 + n * 30, 120 + n * 12);
    if (two.includes(name)) await click(p, 200 + n * 30, 200 + n * 12);
    n++;
    await until(
      () => saved("XAUUSD"),
      (d) => d.length === n,
      name,
    );
    await plot(p).press("Escape");
  }
  // The server assigns the text's id while it is being typed.
  let answer;
  const written = new Promise((resolve) => (answer = resolve));
  await p.route("**/api/drawings", async (r) => (await written, r.continue()), { times: 1 });
  await tool(p, "Text");
  await click(p, 500, 120);
  const words = p.getByRole("dialog", { name: "Text" }).getByRole("textbox", { name: "Text", exact: true });
  await words.fill("Breakout");
  const given = p.waitForResponse((r) => r.url().endsWith("/api/drawings"));
  answer();
  await given;
  await until(
    () => saved("XAUUSD"),
    (d) => d.some((x) => x.type === "text"),
    "the text is there",
  );
  assert.equal(await words.inputValue(), "Breakout");
  await p.getByRole("button", { name: "Save", exact: true }).click();
  const all = await until(
    () => saved("XAUUSD"),
    (d) => d.some((x) => x.text === "Breakout"),
    "the text is saved",
  );
  const position = all.find((d) => d.type === "short_position");
  assert.ok(
    position.takeProfit < position.entry && position.stopLoss > position.entry && position.riskReward > 0,
    JSON.stringify(position),
  );
  await shot(p, "chart-all");
  await p.done();
});

test("drawings are made, selected, moved and removed by keyboard alone", async () => {
  const p = await chart("XAUUSD", { timeframe: "4h" });
  const before = await saved("XAUUSD");
  await plot(p).focus();
  await p.keyboard.press("Alt+h");
  await p.keyboard.press("Enter"); // shows the crosshair
  for (let i = 0; i < 3; i++) await p.keyboard.press("ArrowUp");
  await p.keyboard.press("Enter");
  const [line] = (
    await until(
      () => saved("XAUUSD"),
      (d) => d.length === before.length + 1,
      "it is drawn",
    )
  ).filter((d) => !before.some((b) => b.id === d.id));
  await p.keyboard.press("Escape");
  await p.keyboard.press(","); // the last drawing
  await p.getByRole("toolbar", { name: "Horizontal line, selected" }).waitFor();
  await p.keyboard.press("Shift+ArrowUp");
  await p.keyboard.press("ArrowDown");
  await until(
    () => saved("XAUUSD"),
    (d) => Math.abs(d.find((x) => x.id === line.id).price - line.price - 9 * 0.1) < 1e-6,
    "it has moved by nine steps",
  );
  await p.keyboard.press("Delete");
  await until(
    () => saved("XAUUSD"),
    (d) => d.length === before.length,
    "it is removed",
  );
  // Keys also move to the calendar, which is announced.
  await p.keyboard.press("e");
  const title = await p.getByRole("tooltip").locator(".font-medium").first().innerText();
  await p.getByRole("status").filter({ hasText: title }).waitFor({ state: "attached" });
  await p.keyboard.press("Escape");
  await p.getByRole("tooltip").waitFor({ state: "detached" });
  // The toolbar is one tab stop; arrow keys move within it.
  await p.keyboard.press("Shift+Tab");
  await p.keyboard.press("ArrowDown");
  await p.keyboard.press("ArrowDown");
  assert.match(await p.evaluate(() => document.activeElement.getAttribute("aria-label")), /^Trend ray/);
  await p.keyboard.press("Tab");
  assert.equal(await p.evaluate(() => document.activeElement.id), "chart");
  await p.done();
});

test("a drawing keeps its moves when the server assigns its id between two keys", async () => {
  const p = await chart("XAUUSD", { timeframe: "4h" });
  const before = await saved("XAUUSD");
  let answer;
  const held = new Promise((resolve) => (answer = resolve));
  await p.route("**/api/drawings", async (r) => (await held, r.continue()), { times: 1 });
  const sent = p.waitForRequest((r) => r.method() === "POST" && r.url().endsWith("/api/drawings"));
  await plot(p).focus();
  await p.keyboard.press("Alt+h");
  await p.keyboard.press("Enter");
  await p.keyboard.press("Enter");
  const { price } = (await sent).postDataJSON().drawing;
  await p.getByRole("toolbar", { name: "Horizontal line, selected" }).waitFor();
  const given = p.waitForResponse((r) => r.url().endsWith("/api/drawings"));
  await p.keyboard.press("Shift+ArrowUp");
  answer();
  await given;
  await p.keyboard.press("ArrowDown");
  await until(
    () => saved("XAUUSD"),
    (d) => d.some((x) => !before.some((b) => b.id === x.id) && Math.abs(x.price - price - 9 * 0.1) < 1e-6),
    "it has moved by nine steps",
  );
  await p.keyboard.press("Delete");
  await until(
    () => saved("XAUUSD"),
    (d) => d.length === before.length,
    "it is removed",
  );
  await p.done();
});

test("a second device sees a new drawing, and the history names its author", async () => {
  const one = await chart("EURUSD");
  const two = await chart("EURUSD", { theme: "dark" });
  await two.getByRole("button", { name: "Drawings", exact: true }).click();
  await two.getByRole("tab", { name: "Trail" }).click();
  await tool(one, "Rectangle");
  await click(one, 500, 300);
  await click(one, 600, 360);
  const entry = two.getByRole("button", { name: "Drew Rectangle" }).first();
  await entry.waitFor();
  await entry.hover();
  await shot(two, "chart-trail-dark");
  await two.getByRole("button", { name: "Undo this change" }).first().click();
  await until(
    () => saved("EURUSD"),
    (d) => !d.some((x) => x.type === "rectangle"),
    "it is taken back",
  );
  await one.done();
  await two.done();
});

test("symbols, timeframes, kinds of chart, the readout and the calendar", async () => {
  const p = await chart("EURUSD");
  await p.getByTitle("Choose another symbol").click();
  await p.getByRole("combobox", { name: "Search symbols" }).fill("gold");
  await p.keyboard.press("Enter");
  await p.waitForURL(/\/chart\/XAUUSD\/1h/);
  await ready(p);
  await p.getByRole("button", { name: "1D", exact: true }).click();
  await p.waitForURL(/\/chart\/XAUUSD\/1D/);
  await ready(p);
  await p.mouse.move(...(await spot(p, 400, 200)));
  const readout = p.locator("[data-readout]");
  await until(
    () => readout.innerText(),
    (t) => /^O\s*\d+\.\d\d\s*H\s*\d/.test(t),
    "the readout",
  );
  await p.locator('[data-live="on"], [data-live="old"]').waitFor();
  await p.getByText("Synthetic data").waitFor();
  for (const kind of ["Line", "Area", "Candles"]) {
    await p.getByRole("button", { name: /^Kind of chart/ }).click();
    await p.getByRole("menuitemradio", { name: kind }).click();
    await shot(p, `chart-${kind.toLowerCase()}`);
  }
  await p.goBack();
  await p.waitForURL(/\/chart\/XAUUSD\/1h/);
  await p.done();
});

/** Returns the time of the bar at a point, as the axis shows it. */
const pointedAt = async (p, x) => {
  await p.mouse.move(...(await spot(p, x, 300)));
  return p.evaluate(
    () =>
      new Promise((resolve) =>
        requestAnimationFrame(() =>
          requestAnimationFrame(() => resolve(document.querySelector("[data-readout]").innerText)),
        ),
      ),
  );
};

test("a range, a date, and the same place after the bar length changes", async () => {
  const p = await chart("EURUSD");
  const bar = async (timeframe, time) => {
    const all = await read(server, `/api/market/candles?symbol=EURUSD&timeframe=${timeframe}&to=${time + 1}&limit=1`);
    return all.open[0].toFixed(5);
  };
  await p.getByRole("button", { name: "1Y: the last year" }).click();
  await p.waitForURL(/\/chart\/EURUSD\/1D/);
  await ready(p);
  const { time } = await read(server, "/api/market/candles?symbol=EURUSD&timeframe=1D&limit=1000");
  const year = time.filter((t) => t >= time.at(-1) - 365 * 86_400);
  // A year fills the width, so its first bars are at the left edge.
  const early = await Promise.all(year.slice(0, 4).map((t) => bar("1D", t)));
  await until(
    () => pointedAt(p, 4),
    (words) => early.some((o) => words.includes(o)),
    `the year begins at the left: ${early}`,
  );

  await p.keyboard.press("Alt+g");
  const dialog = p.getByRole("dialog", { name: "Go to a date" });
  await dialog.getByLabel("Date and time in UTC").fill("2025-03-12T09:00");
  await p.keyboard.press("Enter");
  const half = (await plot(p).boundingBox()).width / 2 - 35; // of the bars, without the axis
  const near = await Promise.all([-1, 0, 1].map((d) => bar("1D", Date.UTC(2025, 2, 12 + d) / 1000)));
  await until(
    () => pointedAt(p, half),
    (words) => near.some((o) => words.includes(o)),
    "the day is in the middle",
  );
  await p.getByRole("button", { name: "4h", exact: true }).click();
  await p.waitForURL(/\/chart\/EURUSD\/4h/);
  await ready(p);
  const days = Array.from({ length: 13 }, (_, i) => Date.UTC(2025, 2, 11) / 1000 + i * 4 * 3600);
  const same = await Promise.all(days.map((t) => bar("4h", t)));
  await until(
    () => pointedAt(p, half),
    (words) => same.some((o) => words.includes(o)),
    "the day is still in the middle",
  );

  // There are no minutes that far back, so the page says where they begin.
  await p.getByRole("button", { name: "1m", exact: true }).click();
  await ready(p);
  await p.getByRole("button", { name: "Go to a date" }).click();
  await p.getByLabel("Date and time in UTC").fill("2025-03-12T09:00");
  await p.getByRole("button", { name: "Go", exact: true }).click();
  await p.getByText(/^The 1m bars start on /).waitFor({ timeout: 60_000 });
  await p.done();
});

test("a logarithmic scale, a percentage scale, and automatic height again", async () => {
  const p = await chart("XAUUSD", { timeframe: "1W" });
  const log = p.getByRole("button", { name: "log", exact: true });
  await log.click();
  await until(
    () => log.getAttribute("aria-pressed"),
    (on) => on === "true",
    "it is logarithmic",
  );
  await p.reload();
  await ready(p);
  assert.equal(await log.getAttribute("aria-pressed"), "true", "it is kept");
  await bring(server, "XAUUSD", { id: "level", type: "horizontal_line", price: 2500, color: "#ff00ff" });
  const seen = async () => {
    const box = await plot(p).boundingBox();
    for (let y = 60; y < box.height - 200; y += 8) if (await painted(p, 200, y, "#ff00ff", 5)) return y;
    return 0;
  };
  const inLog = await until(seen, (y) => y > 0, "the line is there");
  await p.getByRole("button", { name: "%", exact: true }).click();
  assert.equal(await log.getAttribute("aria-pressed"), "false");
  await until(seen, (y) => y > 0, "and in percent");
  await p.getByRole("button", { name: "%", exact: true }).click();
  const linear = await until(seen, (y) => y > 0, "and in its own price");
  assert.ok(inLog < linear, `equal percents are equally high: ${inLog}, ${linear}`);

  const auto = p.getByRole("button", { name: "auto", exact: true });
  const box = await plot(p).boundingBox();
  await drag(p, [box.width - 20, 200], [box.width - 20, 300]); // drags the scale
  await until(
    () => auto.getAttribute("aria-pressed"),
    (on) => on === "false",
    "it follows no more",
  );
  await auto.click();
  assert.equal(await auto.getAttribute("aria-pressed"), "true");
  await bring(server, "XAUUSD");
  await p.done();
});

test("a drawing is duplicated, by keyboard and by the context menu", async () => {
  await bring(server, "GBPUSD");
  const p = await chart("GBPUSD");
  await free(p);
  await tool(p, "Long position");
  await click(p, 300, 260);
  const [one] = await until(
    () => saved("GBPUSD"),
    (d) => d.length === 1,
    "it is saved",
  );
  await p.getByRole("toolbar", { name: "Long position, selected" }).getByRole("button", { name: "Lock" }).click();
  await until(
    () => saved("GBPUSD"),
    (d) => d[0].locked,
    "it is locked",
  );
  await plot(p).press("Control+d");
  const two = (
    await until(
      () => saved("GBPUSD"),
      (d) => d.length === 2,
      "there are two",
    )
  ).find((d) => d.id !== one.id);
  assert.ok(two.entry < one.entry && two.anchors[0].time > one.anchors[0].time && !two.locked, JSON.stringify(two));
  assert.equal(two.status, "signal");
  assert.ok(Math.abs(two.riskReward - one.riskReward) < 0.05);

  await p.keyboard.press("Escape");
  await tool(p, "Vertical line");
  await click(p, 150, 200);
  await until(
    () => saved("GBPUSD"),
    (d) => d.length === 3,
    "a line, too",
  );
  await click(p, 150, 350, { button: "right" });
  await p.getByRole("menuitem", { name: "Duplicate" }).waitFor();
  await check(p, "chart-menu-drawing");
  await p.getByRole("menuitem", { name: "Duplicate" }).click();
  await until(
    () => saved("GBPUSD"),
    (d) => d.filter((x) => x.type === "vertical_line").length === 2,
    "it is listed twice",
  );
  await click(p, 60, 420, { button: "right" });
  await p.getByRole("menuitem", { name: "Draw a line here" }).waitFor();
  await check(p, "chart-menu");
  await p.getByRole("menuitem", { name: "Draw a line here" }).click();
  await until(
    () => saved("GBPUSD"),
    (d) => d.some((x) => x.type === "horizontal_line"),
    "a line is drawn there",
  );
  await bring(server, "GBPUSD");
  await p.done();
});

test("the page lists its keyboard shortcuts", async () => {
  const p = await chart("EURUSD");
  await plot(p).press("?");
  await p.getByRole("dialog", { name: "Keyboard" }).getByText("Duplicate the selected drawing").waitFor();
  await check(p, "chart-keys");
  await p.done();
});

test("a line that closes have crossed is marked", async () => {
  await bring(server, "XAUUSD");
  let p = await chart("XAUUSD");
  const question = "Draw support and resistance";
  await p.getByRole("button", { name: question, exact: true }).click();
  await answered(p, question);
  await p.done();

  // Days cannot pass in a test: the server's drawings are changed on their way, as if drawn 100 bars ago.
  const { time, close } = await read(server, "/api/market/candles?symbol=XAUUSD&timeframe=1h&limit=102");
  const after = close.slice(2).filter((_, i) => (time[i + 2] + 3600) * 1000 <= Date.now());
  const price = (Math.max(...after) + Math.min(...after)) / 2;
  const side = Math.sign(close[1] - price);
  const crossed = after.filter((c) => Math.sign(c - price) === -side).length;
  const words = new RegExp(`^Crossed: ${crossed} closes since .* lie ${side > 0 ? "below" : "above"}\\.$`);
  for (const [width, viewport] of Object.entries({ 1440: desktop, 390: phone }))
    for (const colorScheme of ["light", "dark"]) {
      p = await chart("XAUUSD", { viewport, colorScheme });
      await p.route(/\/api\/drawings\?/, async (route) => {
        const response = await route.fetch();
        const doc = await response.json();
        for (const d of doc.drawings) Object.assign(d, { price, placed: new Date(time[2] * 1000).toISOString() });
        await route.fulfill({ response, json: doc });
      });
      await p.reload();
      await ready(p);
      if (width === "390") await p.getByRole("button", { name: "Show the chat" }).click();
      await p.locator("[data-change]").getByText(words).first().waitFor();
      await shot(p, `chart-crossed-${colorScheme}-${width}`);
      await p.done();
    }
});

test("an unknown request is declined with a list of what the chat can do", async () => {
  const p = await chart("GBPUSD", { timeframe: "1D" });
  await p.getByRole("textbox", { name: "Your question" }).fill("Should I buy?");
  await p.getByRole("button", { name: "Send" }).click();
  const turn = await answered(p, "Should I buy?");
  assert.match(await turn.innerText(), /I did nothing.*Draw support and resistance/s);
  await p.done();
});

test("drawings after the last bar are painted on every timeframe", async () => {
  await market(server);
  const { time, close: closes } = await read(server, "/api/market/candles?symbol=USDJPY&timeframe=1h&limit=1");
  const at = (bars, price) => ({ time: time[0] + bars * 3600, price: closes[0] * price });
  await bring(
    server,
    "USDJPY",
    {
      type: "long_position",
      anchors: [at(1, 1), at(9, 1)],
      entry: closes[0],
      color: "#00aa55",
      takeProfit: closes[0] * 1.002,
      stopLoss: closes[0] * 0.999,
    },
    {
      type: "rectangle",
      label: "Zone",
      anchors: [at(2, 1.0005), at(8, 1.001)],
      color: "#ff00ff",
      fillColor: "#ff00ff",
    },
    { type: "trendline", anchors: [at(3, 1.0015), at(7, 1.0025)], color: "#ff8800", lineWidth: 4 },
    { type: "horizontal_ray", anchors: [at(4, 0.9995)], color: "#0000ff", lineWidth: 3 },
  );
  for (const timeframe of ["1h", "4h", "1D"]) {
    const p = await chart("USDJPY", { timeframe });
    const { width, height } = await plot(p).boundingBox();
    for (const [what, colour] of [
      ["rectangle", "#ff00ff"],
      ["position", "#00aa55"],
      ["trend line", "#ff8800"],
      ["ray", "#0000ff"],
    ])
      await until(
        () => painted(p, width - 240, height / 2, colour, 180),
        Boolean,
        `the ${what} is painted on ${timeframe}`,
      );
    await shot(p, `chart-ahead-${timeframe}`);
    assert.deepEqual(p.faults(), []);
    await p.done();
  }
});

for (const [width, viewport] of Object.entries({ 1440: desktop, 390: phone })) {
  test(`a drawing far after the last bar is reached from the list, at ${width}`, async () => {
    await market(server);
    const { time, close: closes } = await read(server, "/api/market/candles?symbol=USDJPY&timeframe=1h&limit=1");
    const at = (bars, price) => ({ time: time[0] + bars * 3600, price: closes[0] * price });
    await bring(server, "USDJPY", {
      type: "rectangle",
      label: "Ahead",
      anchors: [at(470, 1.05), at(490, 1.06)],
      color: "#ff00ff",
      fillColor: "#ff00ff",
    });
    // From 15m, on which it would be too far away, the chart goes to the timeframe on which it was drawn.
    for (const timeframe of width === "390" ? ["1h", "15m"] : ["1h"]) {
      const p = await chart("USDJPY", { viewport, timeframe });
      await p.getByRole("button", { name: "Drawings", exact: true }).click();
      await p.getByRole("button", { name: /^Ahead/ }).click();
      await p.waitForURL(/USDJPY\/1h/);
      await p.getByRole("toolbar", { name: /selected/ }).waitFor();
      const box = await plot(p).boundingBox();
      await until(
        () => painted(p, box.width / 2, box.height / 3, "#ff00ff", Math.floor(box.width / 2) - 1),
        Boolean,
        `it is in view, from ${timeframe}`,
      );
      await p.done();
    }
  });
}

test("the bar below the chart is complete, however wide the chat is", async () => {
  for (const width of [1440, 1024, 390]) {
    const p = await chart("EURUSD", { viewport: { width, height: 800 } });
    if (width > 390) {
      await p.getByRole("button", { name: "Drawings", exact: true }).click();
      const edge = p.getByRole("separator", { name: "Width of the chat" });
      for (let i = 0; i < 4; i++) await edge.press("PageDown");
      await p.getByRole("complementary", { name: "Drawings" }).waitFor();
    }
    const bar = p.getByRole("group", { name: "Range" }).locator("..");
    const [all, shown] = await bar.evaluate((el) => [el.scrollWidth, el.clientWidth]);
    assert.ok(all <= shown, `at ${width}, ${all} px of the bar do not fit ${shown}`);
    const top = p.getByRole("main").getByRole("button", { name: "More", exact: true });
    assert.ok((await top.boundingBox()).x + 36 <= width, `at ${width}, the menu is outside`);
    await p.done();
  }
});

test("the logo leads home, whether the chat is shown or not", async () => {
  const p = await chart("EURUSD");
  const home = p.getByRole("link", { name: "Footnote, new question" });
  await home.waitFor();
  await p.keyboard.press("Control+l");
  await p.getByRole("complementary", { name: "Chat" }).waitFor({ state: "detached" });
  await home.click();
  await p.getByRole("heading", { name: "What do you want to know?" }).waitFor();
  await p.done();
});
