// The chart assistant, with an imitated model: every drawing tool is called in a real
// browser, and each drawing is in the intended place.
import assert from "node:assert/strict";
import { mkdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { after, before, test } from "node:test";
import {
  bring as put,
  chart as openChart,
  click,
  free,
  painted,
  read,
  saved as ofServer,
  spot,
  tool,
  trail,
  until,
} from "./chart.js";
import { answered, ask, close, open, phone, serveModel, shot, shots } from "./harness.js";
import { check } from "./look.js";

let server;
let bars; // hourly, of EURUSD

const use = (...calls) => ({
  blocks: calls.map(([name, input]) => ({ type: "tool_use", name, input: JSON.stringify(input) })),
});
const when = (i) => new Date(bars.time[i] * 1000).toISOString();
const fixed = (p) => Number(p.toFixed(5));

// What the model draws. Positions are bars, counted from the newest.
let drawn;
function plan() {
  const n = bars.time.length;
  const at = (back, price) => ({ timestamp: when(n - back), price: fixed(price) });
  const low = Math.min(...bars.low.slice(-90));
  const high = Math.max(...bars.high.slice(-90));
  const p = (share) => fixed(low + (high - low) * share);
  drawn = [
    [
      "draw_horizontal_line",
      {
        price: p(0.93),
        label: "Resistance",
        color: "#ff00ff",
        notes: "Three highs stand at it.",
        tags: ["resistance"],
      },
      [{ price: p(0.93), back: 60 }],
    ],
    [
      "draw_horizontal_ray",
      { anchor: at(80, p(0.1)), color: "#00b7ff", notes: "The low of the move." },
      [{ back: 78, price: p(0.1) }],
    ],
    ["draw_vertical_line", { timestamp: when(n - 84), color: "#ff9900", label: "Open" }, [{ back: 84, price: p(0.4) }]],
    [
      "draw_trendline",
      { anchor1: at(75, p(0.2)), anchor2: at(42, p(0.52)), type: "ray", color: "#00aa00" },
      [
        { back: 75, price: p(0.2) },
        { back: 42, price: p(0.52) },
      ],
    ],
    [
      "draw_fibonacci",
      { anchor1: at(70, p(0.85)), anchor2: at(55, p(0.45)), color: "#aa00ff" },
      [{ back: 66, price: p(0.65) }],
    ],
    [
      "draw_rectangle",
      { anchor1: at(50, p(0.3)), anchor2: at(40, p(0.2)), color: "#0000ff" },
      [
        { back: 50, price: p(0.25) },
        { back: 40, price: p(0.25) },
      ],
    ],
    ["draw_circle", { center: at(30, p(0.3)), edge: at(27, p(0.3)), color: "#ff0066" }, [{ back: 27, price: p(0.3) }]],
    ["draw_text", { anchor: at(48, p(0.8)), text: "Range", color: "#009999" }, []],
    [
      "draw_marker",
      { anchor: at(35, p(0.55)), markerType: "square", size: 1, color: "#996600" },
      [{ back: 35, price: p(0.55) }],
    ],
    [
      "draw_long_position",
      { entry: p(0.5), takeProfit: p(0.62), stopLoss: p(0.44), timestamp: when(n - 24), endTimestamp: when(n - 12) },
      [{ back: 14, price: p(0.62), token: "--color-up" }],
    ],
    [
      "draw_short_position",
      { entry: p(0.8), takeProfit: p(0.72), stopLoss: p(0.86), timestamp: when(n - 24), endTimestamp: when(n - 12) },
      [{ back: 14, price: p(0.72), token: "--color-up" }],
    ],
  ];
  const reason = "Price closed below it twice, and the last swing low is lower";
  return [
    {
      when: { contains: "everything", results: false, offers: "draw_text" },
      reply: use(...drawn.map(([name, input]) => [name, input])),
    },
    { when: { contains: "everything", results: true }, reply: { text: "All of it is on the chart." } },
    {
      when: { contains: "support down", results: false, offers: "update_drawing" },
      reply: use(["update_drawing", { drawingId: "support-1", price: p(0.05), reason }]),
    },
    { when: { contains: "support down", results: true }, reply: { text: "Support is at the last swing low now." } },
    {
      when: { contains: "clear it", results: false, offers: "remove_drawing" },
      reply: use(["remove_drawing", { drawingId: "support-1", reason: "It broke." }]),
    },
    { when: { contains: "clear it", results: true }, reply: { text: "It is gone." } },
    {
      when: { contains: "long ago", results: false, offers: "scroll_chart" },
      reply: use(["scroll_chart", { timestamp: when(n - 1500) }]),
    },
    { when: { contains: "long ago", results: true }, reply: { text: "There it is." } },
    {
      when: { contains: "too early", results: false, offers: "draw_marker" },
      reply: use(["draw_marker", { anchor: { timestamp: "1990-01-01T00:00:00Z", price: 1 } }]),
    },
    { when: { contains: "too early", results: true }, reply: { text: "There are no bars there." } },
    {
      when: { contains: "one tab", results: false, offers: "draw_horizontal_line" },
      reply: use(["draw_horizontal_line", { price: p(0.02), label: "Once" }]),
    },
    { when: { contains: "one tab", results: true }, reply: { text: "Drawn once." } },
    {
      when: { contains: "forever", offers: "draw_text" },
      reply: { blocks: [{ type: "text", text: "and again ", repeat: true, deltas: 2000, gap: "30ms" }] },
    },
    { when: {}, reply: { text: "About the chart" } },
  ];
}

before(async () => {
  server = await serveModel({
    scenario: async (url) => {
      bars = await until(
        () => read({ url }, "/api/market/candles?symbol=EURUSD&timeframe=1h&limit=2000"),
        (b) => b.time,
        "the market is there",
      );
      await mkdir(shots, { recursive: true });
      await writeFile(path.join(shots, "chart.json"), JSON.stringify({ rules: plan() }));
      return "shots/chart.json";
    },
  });
});
after(async () => {
  await server?.stop();
  await close();
});

/** Opens a chart with a new conversation, because the page shows the last one. */
async function chart(symbol, options) {
  const p = await openChart(server, symbol, options);
  await p.getByTitle("New conversation").click();
  return p;
}
const saved = () => ofServer(server);
const bring = (...drawings) => put(server, "EURUSD", ...drawings);

/** Measures where times and prices are on screen, by drawing two horizontal and two vertical lines. */
async function places(p) {
  const had = new Set((await saved()).map((d) => d.id));
  const draw = async (name, x, y) => {
    await tool(p, name);
    await click(p, x, y);
    const all = await until(saved, (d) => d.some((one) => !had.has(one.id)), `${name} is saved`);
    const d = all.find((one) => !had.has(one.id));
    had.add(d.id);
    return d;
  };
  await free(p);
  const [top, bottom] = [await draw("Horizontal line", 500, 140), await draw("Horizontal line", 500, 540)];
  const [left, right] = [await draw("Vertical line", 300, 300), await draw("Vertical line", 700, 300)];
  for (const d of [top, bottom, left, right])
    await fetch(`${server.url}/api/drawings/${d.id}?symbol=EURUSD`, { method: "DELETE" });
  const all = await read(server, "/api/market/candles?symbol=EURUSD&timeframe=1h&limit=2000");
  const index = (time) => all.time.findLastIndex((t) => t <= time);
  const [a, b] = [index(left.anchors[0].time), index(right.anchors[0].time)];
  const wide = 400 / (b - a); // approximately the width of a bar
  const exact = Math.round(wide * 2) / 2;
  const offset = 300 - a * exact;
  return {
    x: (time) => Math.round(offset + index(time) * exact),
    y: (price) => Math.round(140 + ((top.price - price) / (top.price - bottom.price)) * 400),
  };
}

/** Returns the colour of a design token in the current theme. */
const resolved = (p, token) =>
  p.evaluate((t) => {
    const e = document.createElement("i");
    e.style.color = `var(${t})`;
    document.body.append(e);
    const value = getComputedStyle(e).color;
    e.remove();
    return value;
  }, token);

test("the chat calls each drawing tool, and its drawing is in the right place", async () => {
  const p = await chart("EURUSD");
  await ask(p, "Draw everything");
  const all = await until(saved, (d) => d.length === drawn.length, "all of it is drawn");
  assert.ok(all.every((d) => d.created.by === "agent"));
  const n = bars.time.length;
  const { x, y } = await places(p);
  await until(saved, (d) => d.length === drawn.length, "the lines for measuring are gone");
  await p.locator(".chart-plot").press("Escape");
  await p.mouse.move(...(await spot(p, 5, 640))); // keeps the crosshair away from the compared area
  await shot(p, "talk-drawn");
  for (const [name, input, spots] of drawn) {
    for (const s of spots) {
      const color = input.color ?? (await resolved(p, s.token));
      const at = [x(bars.time[n - s.back]), y(s.price)];
      await until(
        () => painted(p, ...at, color),
        (is) => is,
        `${name} at ${at}`,
      );
    }
  }
  await p.getByRole("region", { name: /^Drew Resistance at/ }).waitFor();
  await p.getByText("because: Three highs stand at it.").waitFor();

  // The trail shows the same, also on a second device and after a reload.
  const list = await trail(server);
  assert.ok(
    list.some(
      (c) => c.action === "create" && c.by === "agent" && c.reason === "Three highs stand at it." && c.conversation,
    ),
  );
  const two = await chart("EURUSD", { theme: "dark" });
  const line = drawn[0][1];
  await until(
    () => painted(two, 600, 250, line.color, 200),
    (is) => is,
    "the second device shows the line",
  );
  await two.done();
  await p.reload();
  await p.getByRole("region", { name: /^Drew Resistance at/ }).waitFor();
  await until(
    () => painted(p, 600, 250, line.color, 200),
    (is) => is,
    "the line is there after a reload",
  );
  await p.done();
});

test("a change shows its reason, before and after, and is undone", async () => {
  const p0 = drawn[0][1].price;
  await bring({ id: "support-1", type: "horizontal_line", label: "Support", price: p0, color: "#7b57c4" });
  const p = await chart("EURUSD");
  await ask(p, "Move support down");
  const [now] = await until(saved, (d) => d[0].price !== p0, "it has moved");
  const card = p.getByRole("region", { name: `Moved Support ${p0.toFixed(5)} → ${now.price.toFixed(5)}` });
  await card.getByText(/^because: Price closed below it twice/).waitFor();

  await p.getByRole("button", { name: "Drawings", exact: true }).click();
  await p.getByRole("tab", { name: "Trail" }).click();
  const entry = p.locator("aside li").filter({ hasText: "Moved Support" });
  await entry.getByText(/because: Price closed below it twice/).waitFor();
  assert.match(await entry.locator("dl").innerText(), new RegExp(`${p0.toFixed(5)}.*→.*${now.price.toFixed(5)}`));
  await entry.hover();
  await shot(p, "talk-before-after");
  await check(p, "talk-trail");

  await card.getByRole("button", { name: "Undo" }).click();
  await until(saved, (d) => d[0].price === p0, "it is where it was");
  await card.getByText("undone").waitFor();
  // Undoes only that change. Earlier changes can still be undone, and it can be redone and undone again.
  await entry.getByText("undone").waitFor();
  await p
    .locator("aside li")
    .filter({ hasText: "Imported Support" })
    .getByRole("button", { name: "Undo the import" })
    .waitFor();
  await p.locator(".chart-plot").focus();
  await p.keyboard.press("Control+Shift+z");
  await until(saved, (d) => d[0].price === now.price, "it is made again");
  await card.getByRole("button", { name: "Undo" }).waitFor();
  await ask(p, "Now clear it");
  await until(saved, (d) => d.length === 0, "it is gone");
  await p.getByRole("region", { name: "Removed Support" }).getByText("because: It broke.").waitFor();
  await p.done();
});

test("one of several tabs answers a call, and all of them show it", async () => {
  await bring();
  const one = await chart("EURUSD");
  const answers = [];
  const count = (page) =>
    page.on(
      "request",
      (r) =>
        r.method() === "POST" &&
        /\/turns$/.test(r.url()) &&
        r.postData()?.includes('"answers"') &&
        answers.push(r.url()),
    );
  count(one);
  await ask(one, "Hello");
  const two = await open(one.url(), { context: one.context() });
  count(two);
  await two.locator("[data-readout]").waitFor();
  await two.getByRole("article", { name: "Question: Hello" }).waitFor();
  await ask(one, "Draw for one tab");
  await answered(two, "Draw for one tab");
  await two.getByRole("region", { name: /^Drew Once at/ }).waitFor();
  assert.equal((await saved()).length, 1);
  assert.equal(answers.length, 1, answers.join(" "));
  await two.done();
  await one.done();
});

test("a chart that is opened again shows its last chat, and makes the drawing that waited for it", async () => {
  await bring();
  const res = await fetch(`${server.url}/api/conversations`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({
      text: "Draw for one tab, later",
      assistant: "chart",
      context: { symbol: "EURUSD", timeframe: "1h" },
    }),
  });
  const { conversation } = await res.json();
  const state = async () => (await read(server, `/api/conversations/${conversation}`)).state;
  await until(state, (s) => s === "parked", "the drawing waits");
  const other = await openChart(server, "GBPUSD");
  await other.getByRole("heading", { name: "Ask about GBPUSD" }).waitFor();
  await other.done();
  assert.equal(await state(), "parked");
  const p = await openChart(server, "EURUSD");
  await answered(p, "Draw for one tab, later");
  await p.getByRole("region", { name: /^Drew Once at/ }).waitFor();
  assert.equal((await saved()).length, 1);
  assert.equal(new URL(p.url()).searchParams.get("talk"), conversation);
  await p.getByTitle("New conversation").click();
  await p.getByRole("heading", { name: "Ask about EURUSD" }).waitFor();
  await p.done();
});

test("a chart shows its last chat behind many others, and makes a drawing that waits in an older one", async () => {
  await bring();
  const start = async (text, symbol) => {
    const res = await fetch(`${server.url}/api/conversations`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ text, assistant: "chart", context: { symbol, timeframe: "1h" } }),
    });
    return (await res.json()).conversation;
  };
  const state = async (id) => (await read(server, `/api/conversations/${id}`)).state;
  const waits = await start("Draw for one tab, later", "EURUSD");
  await until(
    () => state(waits),
    (s) => s === "parked",
    "the drawing waits",
  );
  const last = await start("Hello", "EURUSD");
  for (let i = 0; i < 12; i++) await start("Hello", "GBPUSD");
  const p = await openChart(server, "EURUSD");
  await p.getByRole("article", { name: "Question: Hello" }).waitFor();
  assert.equal(new URL(p.url()).searchParams.get("talk"), last);
  await until(
    () => state(waits),
    (s) => s === "idle",
    "the drawing is made",
  );
  assert.equal((await saved()).length, 1);
  await p.done();
});

test("a refusal by the server is shown, and the chart moves where the chat sends it", async () => {
  const p = await chart("EURUSD");
  await ask(p, "Mark it, too early");
  await p.getByText(/was refused: .*before the first bar/).waitFor();
  await ask(p, "Show me long ago");
  await p.getByRole("button", { name: "Go to the newest bar" }).waitFor();
  await p.done();
});

test("the chat: stop, hide, width, and the list of conversations", async () => {
  const p = await chart("EURUSD");
  await p.getByRole("textbox", { name: "Your question" }).fill("Talk forever");
  await p.getByRole("button", { name: "Send" }).click();
  await p.getByRole("log").getByText("and again and again").first().waitFor();
  await p.getByRole("button", { name: "Stop" }).click();
  await p.getByText("You stopped this answer.").waitFor();

  const chat = p.getByRole("complementary", { name: "Chat" });
  const wide = async () => Math.round((await chat.boundingBox()).width);
  assert.equal(await wide(), 360);
  await p.getByRole("separator", { name: "Width of the chat" }).press("ArrowRight");
  await until(wide, (w) => w > 370, "it is wider");
  await p.keyboard.press("Control+l");
  await chat.waitFor({ state: "detached" });
  await p.reload();
  await p.locator("[data-readout]").waitFor();
  assert.equal(await chat.count(), 0);
  await p.keyboard.press("Control+l");
  await chat.waitFor();
  await until(wide, (w) => w > 370, "the width is kept");

  await chat
    .getByRole("button", { name: "Talk forever" })
    .or(chat.getByRole("button", { name: "About the chart" }))
    .first()
    .click();
  const list = p.getByRole("dialog", { name: "Conversations about charts" });
  await list
    .getByText(/EURUSD · 1h · \d+ messages? · [\d,]+ tokens/)
    .first()
    .waitFor();
  await shot(p, "talk-list");
  await p.keyboard.press("Escape");
  await p.done();
});

test("another model answers the next question of the conversation", async () => {
  const p = await chart("EURUSD");
  await p.getByRole("group", { name: "Model" }).getByRole("button", { name: "high" }).click();
  await ask(p, "Hello, high");
  const talk = new URL(p.url()).searchParams.get("talk");
  assert.equal((await read(server, `/api/conversations/${talk}`)).tier, "high");
  await p.getByRole("textbox", { name: "Your question" }).fill("And in other words?");
  await p.getByRole("button", { name: "Model: high" }).click();
  await check(p, "talk-model");
  await p.getByRole("menuitemradio", { name: /^Low/ }).click();
  assert.equal(await p.getByRole("textbox", { name: "Your question" }).inputValue(), "And in other words?");
  await p.getByRole("button", { name: "Send" }).click();
  await answered(p, "And in other words?");
  assert.equal(new URL(p.url()).searchParams.get("talk"), talk);
  assert.equal((await read(server, `/api/conversations/${talk}`)).tier, "low");
  await p.done();
});

test("a conversation in the list opens its chart", async () => {
  const p = await chart("EURUSD");
  await ask(p, "Hello there");
  const conversation = new URL(p.url()).searchParams.get("talk");
  await p.goto(`${server.url}/`);
  await p.getByRole("link", { name: "Markets" }).waitFor();
  await p.locator(`a[href="/chart?talk=${conversation}"]`).click();
  await p.waitForURL(/\/chart\/EURUSD\/1h\?talk=/);
  await p.getByRole("article", { name: "Question: Hello there" }).waitFor();
  await p.done();
});

for (const theme of ["light", "dark"]) {
  test(`axe finds no violation in the chat, ${theme}`, async () => {
    const p = await chart("EURUSD", { theme });
    await ask(p, "Draw for one tab, again");
    await check(p, `talk-${theme}-1440`);
    const url = p.url();
    await p.done();
    const small = await open(url, { theme, viewport: phone });
    await small.locator("[data-readout]").waitFor();
    const talk = small.getByRole("button", { name: "Show the chat" });
    await talk.click();
    await small.getByRole("article", { name: "Question: Draw for one tab, again" }).waitFor();
    // The chat covers the chart, so it announces drawings, which are one tap away.
    await bring();
    await ask(small, "Draw for one tab, small");
    await check(small, `talk-${theme}-390`);
    assert.ok((await small.evaluate(() => document.documentElement.scrollWidth)) <= 390);
    await small.getByRole("button", { name: /^Drew Once at .* See it$/ }).click();
    await small.getByRole("toolbar", { name: "Horizontal line, selected" }).waitFor();
    assert.ok(await talk.evaluate((el) => el === document.activeElement));
    // Calls are answered even while the chat is hidden.
    await bring();
    const body = JSON.stringify({ text: "Draw for one tab, unseen", context: { symbol: "EURUSD", timeframe: "1h" } });
    const asked = await fetch(`${server.url}/api/conversations/${new URL(url).searchParams.get("talk")}/turns`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body,
    });
    assert.ok(asked.ok, await asked.text());
    await small.getByRole("button", { name: "Show the chat (new answer)" }).waitFor({ timeout: 60_000 });
    assert.equal((await saved()).length, 1);
    await shot(small, `talk-unseen-${theme}-390`);
    await small.done();
  });
}
