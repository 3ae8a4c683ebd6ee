import { afterEach, expect, test, vi } from "vitest";
import { Bars, barStart } from "./bars";
import crossed from "../../../../market/drawing/testdata/crossed.json";
import { crossing, crossingWords } from "./crossed";
import { Doc } from "./doc";
import { copied, created, moved, toSend, snapped, tools, visible } from "./edit";
import { rangesOf } from "./ranges";
import { edgePoint, distance, handleAt, pricesOf, riskReward, shapeOf, type Scale } from "./shape";
import type { Change, Columns, Drawing, Timeframe } from "./types";
import { describe, diffs, headline } from "./words";

const hour = 3600;
const columns = (times: number[]): Columns => ({
  time: times,
  open: times.map((_, i) => 1 + i / 100),
  high: times.map((_, i) => 1.005 + i / 100),
  low: times.map((_, i) => 0.995 + i / 100),
  close: times.map((_, i) => 1.002 + i / 100),
  volume: times.map(() => 1),
});
// Friday 20:00 and 21:00, then Monday 0:00 and 1:00.
const friday = Date.UTC(2026, 10, 6, 20) / 1000;
const monday = Date.UTC(2026, 10, 9) / 1000;
const bars = new Bars("1h", columns([friday, friday + hour, monday, monday + hour]));

test("times map to positions among the bars, and weekends take no space", () => {
  expect([friday, friday + hour, monday].map((t) => bars.index(t))).toEqual([0, 1, 2]);
  expect(bars.index(friday + hour / 2)).toBe(0.5);
  expect(bars.index((friday + hour + monday) / 2)).toBe(1.5);
  expect(bars.index(monday + 3 * hour)).toBe(5);
  expect(bars.index(friday - 2 * hour)).toBe(-2);
  for (const i of [-2, 0, 1, 2, 3, 7]) expect(bars.index(bars.time(i))).toBe(i);
});

test("older and newer bars are joined without duplicates", () => {
  const older = bars.before(columns([friday - hour, friday]));
  expect(older.columns.time).toEqual([friday - hour, friday, friday + hour, monday, monday + hour]);
  expect(older.before(columns([friday]))).toBe(older);
  const next = bars.after(columns([monday + hour, monday + 2 * hour]));
  expect(next.columns.time).toEqual([friday, friday + hour, monday, monday + hour, monday + 2 * hour]);
});

test("a price extends the last bar or starts a new one; an old price is ignored", () => {
  expect(bars.tick(2, monday + hour + 5)).toMatchObject({ time: monday + hour, high: 2, close: 2, open: 1.03 });
  expect(bars.tick(2, monday + 2 * hour + 5)).toEqual({
    time: monday + 2 * hour,
    open: 2,
    high: 2,
    low: 2,
    close: 2,
    volume: 0,
  });
  expect(bars.tick(2, monday)).toBeUndefined();
});

test("days, weeks and months start in UTC, and weeks on Monday", () => {
  const t = Date.UTC(2026, 10, 11, 13, 7) / 1000; // a Wednesday
  expect(barStart(t, "4h")).toBe(Date.UTC(2026, 10, 11, 12) / 1000);
  expect(barStart(t, "1D")).toBe(Date.UTC(2026, 10, 11) / 1000);
  expect(barStart(t, "1W")).toBe(monday);
  expect(barStart(t, "1M")).toBe(Date.UTC(2026, 10, 1) / 1000);
});

const scale: Scale = { width: 400, height: 300, x: (t) => (bars.index(t) + 1) * 50, y: (p) => (2 - p) * 100 };
const base = { symbol: "EURUSD", timeframe: "1h", id: "d1" } as const;
const line: Drawing = {
  ...base,
  type: "trendline",
  anchors: [
    { time: friday, price: 1 },
    { time: monday, price: 1.5 },
  ],
};
const long: Drawing = {
  ...base,
  type: "long_position",
  anchors: [
    { time: friday, price: 1 },
    { time: monday, price: 1 },
  ],
  entry: 1,
  takeProfit: 1.4,
  stopLoss: 0.8,
};

test("every type has a shape with handles that can be hit", () => {
  for (const tool of tools) {
    const d = { id: "x", ...created(tool, line.anchors!, "EURUSD", "1h", bars, 5) } as Drawing;
    const s = shapeOf(d, scale, 5);
    expect(s.pieces.length, tool.id).toBeGreaterThan(0);
    expect(s.handles.length, tool.id).toBeGreaterThan(0);
    for (const h of s.handles) expect(handleAt(s, h), tool.id).toBe(h.name);
  }
  const s = shapeOf(line, scale, 5);
  expect(distance(s, { x: 100, y: 75 })).toBeLessThan(0.01);
  expect(distance(s, { x: 100, y: 95 })).toBe(Infinity);
});

test("a ray ends at the edge of the pane", () => {
  expect(edgePoint({ x: 0, y: 0 }, { x: 10, y: 5 }, { width: 100, height: 100 })).toEqual({ x: 100, y: 50 });
  expect(edgePoint({ x: 50, y: 50 }, { x: 50, y: 40 }, { width: 100, height: 100 })).toEqual({ x: 50, y: 0 });
});

test("a drawing moves as a whole, by bars and price", () => {
  const m = moved(line, undefined, bars, { bars: 1, price: 0.25 }, 5);
  expect(m.anchors).toEqual([
    { time: friday + hour, price: 1.25 },
    { time: monday + hour, price: 1.75 },
  ]);
  expect(moved(line, "a1", bars, { bars: 1, price: 0 }, 5).anchors).toEqual([
    line.anchors![0],
    { time: monday + hour, price: 1.5 },
  ]);
});

test("target and stop stay on their sides of the entry", () => {
  expect(moved(long, "takeProfit", bars, { bars: 0, price: -1 }, 5).takeProfit).toBe(1.00001);
  expect(moved(long, "stopLoss", bars, { bars: 0, price: 1 }, 5).stopLoss).toBe(0.99999);
  expect(moved(long, "entry", bars, { bars: 0, price: 5 }, 5).entry).toBe(1);
  expect(moved(long, "entry", bars, { bars: 0, price: 0.1 }, 5)).toMatchObject({
    entry: 1.1,
    takeProfit: 1.4,
    stopLoss: 0.8,
  });
  expect(
    moved(
      { ...long, type: "short_position", takeProfit: 0.8, stopLoss: 1.2 },
      "takeProfit",
      bars,
      { bars: 0, price: 1 },
      5,
    ).takeProfit,
  ).toBe(0.99999);
  expect(riskReward(long)).toBeCloseTo(2);
});

test("the magnet snaps to the nearest price of the bar within reach", () => {
  const bar = bars.at(0)!;
  expect(snapped(bar, 1.0041, 0.01)).toBe(1.005);
  expect(snapped(bar, 1.2, 0.01)).toBe(1.2);
  expect(snapped(undefined, 1.2, 0.01)).toBe(1.2);
});

test("hides hidden drawings and those of other timeframes, and does not send the server's fields", () => {
  expect(visible(line, "1h")).toBe(true);
  expect(visible({ ...line, hidden: true }, "1h")).toBe(false);
  expect(visible({ ...line, visibility: ["4h"] }, "1h")).toBe(false);
  expect(
    toSend({ ...long, id: "new:1", version: 3, riskReward: 2, created: { by: "human", at: "" } }),
  ).not.toHaveProperty("id");
  expect(toSend({ ...long, version: 3, riskReward: 2 })).toEqual(long);
});

test("describes a change with its prices", () => {
  const now: Drawing = { ...base, type: "horizontal_line", label: "Support", price: 1.092 };
  const c: Change = {
    version: 2,
    step: 2,
    at: "",
    by: "agent",
    drawing: "d1",
    action: "update",
    before: { ...now, price: 1.095 },
    after: now,
    changes: { price: { from: 1.095, to: 1.092 } },
  };
  expect(headline(c, 4)).toBe("Moved Support 1.0950 → 1.0920");
  const noted: Change = {
    ...c,
    changes: { notes: { from: "Three lows of 2025.", to: "The last low." }, ...c.changes },
  };
  expect(headline(noted, 4)).toBe("Moved Support 1.0950 → 1.0920");
  const later = { from: [{ time: 60, price: 1 }], to: [{ time: 120, price: 1 }] };
  expect(headline({ ...c, changes: { notes: { from: "1 low", to: "2 lows" }, anchors: later } }, 4)).toBe(
    "Moved Support",
  );
  expect(diffs(noted, 4).map((d) => d.field)).toEqual(["Price", "Notes"]);
  expect(headline({ ...c, action: "create", before: null }, 4)).toBe("Drew Support at 1.0920");
  expect(headline({ ...c, changes: { locked: { from: false, to: true } } }, 4)).toBe("Locked Support");
  expect(headline({ ...c, action: "import", after: null }, 4)).toBe("Removed Support, by an import");
  const anchors = { from: line.anchors, to: moved(line, "a1", bars, { bars: 0, price: 0.1 }, 5).anchors };
  expect(diffs({ ...c, changes: { anchors } }, 2)).toEqual([{ field: "To, price", from: "1.50", to: "1.60" }]);
});

test("a vertical line has a time and no price", () => {
  const open: Drawing = { ...base, type: "vertical_line", label: "Open", anchors: [{ time: friday, price: 0 }] };
  expect(pricesOf(open)).toEqual([]);
  expect(describe(open, 5)).toMatch(/^Vertical line, Open, on .+ \d\d:\d\d$/);
  const later: Drawing = { ...open, anchors: [{ time: monday, price: 1.1 }] };
  const c: Change = {
    version: 2,
    step: 2,
    at: "",
    by: "human",
    drawing: "d1",
    action: "update",
    before: open,
    after: later,
    changes: { anchors: { from: open.anchors, to: later.anchors } },
  };
  expect(diffs(c, 5).map((d) => d.field)).toEqual(["Place, time"]);
  expect(headline(c, 5)).toBe("Moved Open");
});

afterEach(() => vi.unstubAllGlobals());

/** Stubs fetch with a server. */
function serve(answer: (method: string, path: string, body: Record<string, unknown>) => unknown) {
  const asked: string[] = [];
  vi.stubGlobal("fetch", async (path: string, init: RequestInit = {}) => {
    const method = init.method ?? "GET";
    asked.push(`${method} ${path.split("?")[0]}`);
    const out = answer(method, path, init.body ? (JSON.parse(init.body as string) as Record<string, unknown>) : {});
    return out instanceof Response ? out : Response.json(out);
  });
  return asked;
}

test("a drawing is shown immediately, and gets its id from the server", async () => {
  let version = 0;
  const seen: Record<string, unknown>[] = [];
  serve((_m, _p, body) => {
    seen.push(body);
    const d = body.drawing as Drawing;
    version++;
    return { version, drawing: { ...d, id: d.id ?? "d7", version } };
  });
  const doc = new Doc("EURUSD");
  const id = doc.add({ type: "horizontal_line", symbol: "EURUSD", timeframe: "1h", price: 1 });
  expect(doc.get().drawings).toMatchObject([{ id, price: 1 }]);
  doc.save({ ...doc.find(id)!, price: 2 }); // before the first response
  await vi.waitFor(() => expect(doc.get().unsaved).toBe(0));
  expect(doc.find(id)).toMatchObject({ id: "d7", price: 2, version: 2 });
  expect(doc.idOf(id)).toBe("d7");
  expect(seen.map((b) => b.base_version)).toEqual([undefined, 1]);
  expect(new Set(seen.map((b) => b.key)).size).toBe(2);
});

test("changes of one drawing are sent one after the other, also after it gets its id", async () => {
  const waiting: (() => void)[] = [];
  const bases: unknown[] = [];
  vi.stubGlobal("fetch", async (_: string, init: RequestInit) => {
    const body = JSON.parse(init.body as string) as { base_version?: number; drawing: Drawing };
    bases.push(body.base_version);
    const version = bases.length;
    await new Promise<void>((resolve) => waiting.push(resolve));
    return Response.json({ version, drawing: { ...body.drawing, id: body.drawing.id ?? "d7", version } });
  });
  const doc = new Doc("EURUSD");
  const id = doc.add({ type: "horizontal_line", symbol: "EURUSD", timeframe: "1h", price: 1 });
  doc.save({ ...doc.find(id)!, price: 2 });
  waiting.shift()!();
  await vi.waitFor(() => expect(bases.length).toBe(2)); // the second is sent with the new id
  doc.save({ ...doc.find(id)!, price: 3 });
  expect(bases).toEqual([undefined, 1]);
  waiting.shift()!();
  await vi.waitFor(() => expect(bases.length).toBe(3));
  waiting.shift()!();
  await vi.waitFor(() => expect(doc.get().unsaved).toBe(0));
  expect(bases).toEqual([undefined, 1, 2]);
  expect(doc.find(id)).toMatchObject({ id: "d7", price: 3, version: 3 });
});

test("a change based on an older version is reverted with a notice", async () => {
  const mine: Drawing = { ...base, type: "horizontal_line", price: 1, version: 1 };
  serve((method, path) => {
    if (method === "POST")
      return Response.json({ error: { code: "conflict", message: "It has changed." } }, { status: 409 });
    if (path.includes("history")) return { changes: [] };
    return { version: 4, drawings: [{ ...mine, price: 3, version: 4 }], can_undo: true, can_redo: false };
  });
  const doc = new Doc("EURUSD");
  doc.save(mine);
  await vi.waitFor(() => expect(doc.get().notice).toMatch(/changed elsewhere/));
  expect(doc.get().drawings).toMatchObject([{ price: 3, version: 4 }]);
  expect(doc.get().unsaved).toBe(0);
});

test("a response that is older than the stream does not hide changes", async () => {
  const one: Drawing = { ...base, type: "horizontal_line", price: 1, version: 1 };
  const two: Drawing = { ...one, id: "d9", version: 3 };
  vi.stubGlobal("navigator", {}); // no locks: this tab reads the stream itself
  let undone = (_: Response) => {};
  let told!: ReadableStreamDefaultController<Uint8Array>;
  vi.stubGlobal("fetch", async (path: string) => {
    if (path.includes("/stream"))
      return new Response(new ReadableStream<Uint8Array>({ start: (c) => void (told = c) }), {
        headers: { "Content-Type": "text/event-stream" },
      });
    if (path.includes("/history")) return Response.json({ changes: [] });
    if (path.includes("/undo")) return new Promise<Response>((resolve) => (undone = resolve));
    return Response.json({ version: 1, drawings: [one], can_undo: true, can_redo: false });
  });
  const doc = new Doc("EURUSD");
  const end = doc.open();
  await vi.waitFor(() => expect(told).toBeDefined());
  const back = doc.undoOrRedo("undo");
  const c: Change = {
    version: 3,
    step: 3,
    at: "",
    by: "human",
    drawing: "d9",
    action: "create",
    before: null,
    after: two,
    changes: {},
  };
  told.enqueue(new TextEncoder().encode(`id: 3\ndata: ${JSON.stringify(c)}\n\n`));
  await vi.waitFor(() => expect(doc.get().version).toBe(3));
  undone(Response.json({ version: 2, drawings: [], can_undo: false, can_redo: true }));
  await back;
  expect(doc.get()).toMatchObject({ version: 3, drawings: [{ id: "d9" }] });
  end();
});

test("a page that stays open keeps the newest fifty changes of the trail", async () => {
  vi.stubGlobal("navigator", {}); // no locks: this tab reads the stream itself
  const change = (version: number): Change => ({
    version,
    step: version,
    at: "",
    by: "human",
    drawing: "d1",
    action: "update",
    before: null,
    after: { ...base, id: "d1", type: "horizontal_line", price: version, version },
    changes: {},
  });
  let told!: ReadableStreamDefaultController<Uint8Array>;
  vi.stubGlobal("fetch", async (path: string) => {
    if (path.includes("/stream"))
      return new Response(new ReadableStream<Uint8Array>({ start: (c) => void (told = c) }), {
        headers: { "Content-Type": "text/event-stream" },
      });
    return Response.json(
      path.includes("/history") ? { changes: [] } : { version: 0, drawings: [], can_undo: false, can_redo: false },
    );
  });
  const doc = new Doc("EURUSD");
  const end = doc.open();
  await vi.waitFor(() => expect(told).toBeDefined());
  const frames = Array.from({ length: 120 }, (_, i) => `id: ${i + 1}\ndata: ${JSON.stringify(change(i + 1))}\n\n`).join(
    "",
  );
  told.enqueue(new TextEncoder().encode(frames));
  await vi.waitFor(() => expect(doc.get().version).toBe(120));
  expect(doc.get().trail.map((c) => c.version)).toEqual(Array.from({ length: 50 }, (_, i) => 120 - i));
  expect(doc.get().more).toBe(true);
  end();
});

test("a change that does not reach the server is sent again", async () => {
  vi.useFakeTimers();
  let times = 0;
  const keys = new Set<unknown>();
  serve((_m, _p, body) => {
    keys.add(body.key);
    if (++times < 3) return Response.json({}, { status: 503 });
    return { version: 1, drawing: { ...(body.drawing as Drawing), version: 1 } };
  });
  const doc = new Doc("EURUSD");
  doc.save({ ...base, type: "horizontal_line", price: 1 });
  await vi.advanceTimersByTimeAsync(10_000);
  vi.useRealTimers();
  expect(doc.get().unsaved).toBe(0);
  expect([times, keys.size]).toEqual([3, 1]);
});

test("a copy is new, unlocked and moved", () => {
  const d: Drawing = {
    id: "d1",
    type: "long_position",
    symbol: "EURUSD",
    anchors: [
      { time: friday, price: 1 },
      { time: monday, price: 1 },
    ],
    entry: 1,
    takeProfit: 1.2,
    stopLoss: 0.9,
    riskReward: 2,
    status: "open",
    locked: true,
    version: 7,
    label: "Mine",
  };
  const c = copied(d, bars, { bars: 1, price: -0.01 }, 2);
  expect(c).toEqual({
    type: "long_position",
    symbol: "EURUSD",
    anchors: [
      { time: friday + hour, price: 0.99 },
      { time: monday + hour, price: 0.99 },
    ],
    entry: 0.99,
    takeProfit: 1.19,
    stopLoss: 0.89,
    status: "signal",
    label: "Mine",
  });
});

test("offers ranges that the data covers, in available timeframes", () => {
  const info = {
    symbol: "X",
    name: "X",
    digits: 2,
    from: "2023-11-19T00:00:00Z",
    to: "2026-11-19T15:42:00Z",
    timeframes: ["5m", "15m", "1h", "4h", "1D", "1W", "1M"],
  };
  expect(rangesOf(info).map((r) => `${r.name} ${r.timeframe}`)).toEqual([
    "1D 5m",
    "5D 15m",
    "1M 1h",
    "3M 4h",
    "1Y 1D",
    "All 1W",
  ]);
  const short = { ...info, from: "2026-10-15T00:00:00Z", timeframes: ["1h", "1D"] };
  expect(rangesOf(short).map((r) => `${r.name} ${r.timeframe}`)).toEqual(["1D 1h", "5D 1h", "1M 1h", "All 1D"]);
});

test("a position shows its label, and all labels if it is selected", () => {
  const narrow: Scale = { width: 500, height: 500, x: (t) => (t - friday) / 360, y: (p) => 500 - (p - 1) * 1000 };
  const d: Drawing = {
    id: "p",
    type: "long_position",
    symbol: "X",
    anchors: [
      { time: friday, price: 1.1 },
      { time: friday + hour, price: 1.1 },
    ],
    entry: 1.1,
    takeProfit: 1.3,
    stopLoss: 1,
    status: "open",
  };
  const words = (strong: boolean) =>
    shapeOf(d, narrow, 2, strong).pieces.flatMap((p) => (p.kind === "text" ? [p.text] : []));
  expect(words(false)).toEqual(["2.00 · open"]);
  expect(words(true)).toEqual(["Target 1.30 (+18.18%)", "Stop 1.00 (-9.09%)", "Risk/reward 2.00 · open"]);
  // At the right edge, and if the target is close to the entry, the label is still in view.
  const near = { ...d, label: "Long", takeProfit: 1.101 };
  const edge: Scale = { ...narrow, width: 30 + "Long · 0.01 · open".length * 6.5 };
  const label = shapeOf(near, { ...edge, x: (t) => edge.width - 10 + (t - friday) / 360 }, 2).pieces.at(-1)!;
  expect(label).toMatchObject({ text: "Long · 0.01 · open", at: { x: 26, y: edge.y(1.101) - 4 } });
  // If the labels are wider than the position, the handles do not cover them.
  const { pieces, handles } = shapeOf(d, narrow, 2, true);
  const heading = pieces.find((p) => p.kind === "text" && p.text.startsWith("Risk"))!;
  expect(handles.every((h) => Math.abs(h.y - (heading as { at: { y: number } }).at.y) > 8)).toBe(true);
});

test.each(crossed)("closes that have crossed: $name", (c) => {
  const start = Date.UTC(2026, 0, 1) / 1000;
  const at = (h: number) => start + h * hour;
  const closes = [1.1, 1.1, 0.9, 1.2, 0.8, 0.7];
  const list = new Bars((c.timeframe ?? "1h") as Timeframe, {
    ...columns((c.bars ?? [0, 1, 2, 3, 4, 5]).map(at)),
    close: closes,
  });
  const d = {
    ...c.drawing,
    id: "a",
    symbol: "EURUSD",
    placed: new Date(at(c.placed ?? 2) * 1000).toISOString(),
    anchors: c.drawing.anchors?.map((a) => ({ ...a, time: at(a.time) })),
  } as Drawing;
  expect(crossing(d, list, at(c.now))).toEqual(c.want ? { ...c.want, first: at(c.want.first) } : undefined);
});

test("the words of a crossing", () => {
  expect(crossingWords({ above: true, closes: 1, first: friday })).toBe(
    "Crossed: the close of 6 Nov, 20:00 lies above.",
  );
  expect(crossingWords({ above: false, closes: 2, first: friday })).toBe(
    "Crossed: 2 closes since 6 Nov, 20:00 lie below.",
  );
});
