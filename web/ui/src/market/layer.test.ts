import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Layer } from "./layer";
import type { Inks } from "./paint";
import type { Scale } from "./shape";
import type { Drawing } from "./types";

const scale: Scale = { width: 1000, height: 600, x: (t) => t, y: (p) => 600 - p };
const inks = { accent: "blue", tones: ["red"], surface: "white" } as unknown as Inks;
const layer = () =>
  new Layer(
    () => scale,
    () => inks,
    2,
    "1h",
    (t) => `1 Nov, ${String(t).padStart(5, "0")}`,
  );
const line = (id: string, price: number, more: Partial<Drawing> = {}): Drawing => ({
  id,
  type: "horizontal_line",
  symbol: "X",
  price,
  ...more,
});

beforeEach(() => vi.stubGlobal("document", { createElement: () => ({ getContext: () => null }) }));
afterEach(() => vi.unstubAllGlobals());

/** A stubbed canvas that counts its calls by name. */
function canvas() {
  const calls: Record<string, number> = {};
  const colors: unknown[] = [];
  const widths = new Set<unknown>();
  const context = new Proxy({} as Record<string, unknown>, {
    get: (own, name: string) =>
      own[name] ??
      ((): object => (
        (calls[name] = (calls[name] ?? 0) + 1),
        name === "stroke" && colors.push(own.strokeStyle) && widths.add(own.lineWidth),
        { width: 10 }
      )),
    set: (own, name: string, v) => ((own[name] = v), true),
  });
  return {
    calls,
    colors,
    widths,
    draw: (l: Layer) =>
      l
        .paneViews()[0]!
        .renderer()
        .draw({ useMediaCoordinateSpace: (f) => f({ context: context as unknown as CanvasRenderingContext2D }) }),
  };
}

test("a horizontal ray is painted if it starts before the right edge, also after the last bar", () => {
  const ray = (time: number): Drawing => ({
    id: "r",
    type: "horizontal_ray",
    symbol: "X",
    anchors: [{ time, price: 10 }],
    color: "red",
  });
  for (const [time, painted] of [
    [-500, true],
    [990, true],
    [1010, false],
  ] as const) {
    const l = layer();
    const c = canvas();
    l.show([ray(time)], "1h");
    c.draw(l);
    expect(l.shapeOf("r") !== undefined).toBe(painted);
    expect(c.colors).toEqual(painted ? ["red"] : []);
  }
});

test("the price scale includes a drawing that was revealed", () => {
  const l = layer();
  l.show([line("a", 700), line("b", 10)], "1h");
  expect(l.autoscaleInfo()).toBe(null);
  l.revealed = "a";
  expect(l.autoscaleInfo()).toEqual({ priceRange: { minValue: 700, maxValue: 700 } });
});

test("many lines are thin and stroked together", () => {
  const l = layer();
  const c = canvas();
  const many = Array.from({ length: 10_000 }, (_, i): Drawing => ({
    id: `d${i}`,
    type: "trendline",
    symbol: "X",
    anchors: [
      { time: i % 1000, price: 10 },
      { time: i % 900, price: 20 + (i % 7) },
    ],
    color: i % 2 ? "red" : undefined,
  }));
  l.chosen = "d3";
  l.show(many, "1h");
  c.draw(l);
  expect(c.widths).toContain(1);
  expect(c.calls.lineTo).toBe(10_000);
  expect(c.calls.stroke).toBeLessThan(60);
  expect(c.colors[0]).toBe("blue");
  expect(new Set(c.colors.slice(0, -2))).toEqual(new Set(["blue", "red"]));
  // Lines that are stroked together can be clicked, too, and the selected one has its handles.
  expect(l.at({ x: many[8]!.anchors![0]!.time, y: 590 })?.id).toBeDefined();
  expect(l.at({ x: 3, y: 590 })).toMatchObject({ id: "d3", handle: "a0" });
});

test("a few lines have their own widths", () => {
  const l = layer();
  const c = canvas();
  l.show([line("a", 100, { lineWidth: 3 }), line("b", 200), line("c", 300)], "1h");
  c.draw(l);
  expect(c.calls.stroke).toBe(3);
  expect(c.widths).toEqual(new Set([3, 1.5]));
});

test("labels and arrows are painted one by one", () => {
  const l = layer();
  const c = canvas();
  l.show(
    [
      line("a", 100, { label: "Support" }),
      {
        id: "b",
        type: "trendline",
        symbol: "X",
        extend: "arrow",
        anchors: [
          { time: 1, price: 1 },
          { time: 50, price: 50 },
        ],
      },
    ],
    "1h",
  );
  c.draw(l);
  expect(c.calls.fillText).toBe(1);
  expect(c.calls.stroke).toBe(3); // both lines and the head of the arrow
});

test("labels on the axis are at their prices, and some are left out if they are too close", () => {
  const l = layer();
  l.chosen = "d0";
  l.show(
    Array.from({ length: 300 }, (_, i) => line(`d${i}`, 100 + i)),
    "1h",
  );
  l.updateAllViews();
  const at = l.priceAxisViews().map((v) => v.coordinate());
  expect(l.priceAxisViews().every((v) => v.coordinate() === 600 - Number(v.text()))).toBe(true);
  expect(at[0]).toBe(500); // the selected one
  expect(at).toContain(600 - 399); // the newest
  expect(at.length).toBeGreaterThan(10);
  const rows = [...at].sort((a, b) => a - b);
  expect(rows.every((y, i) => i === 0 || y - rows[i - 1]! >= 18)).toBe(true);
});

test("the times of the selected drawing have labels if there is room", () => {
  const l = layer();
  const trend = (to: number): Drawing => ({
    id: "t",
    type: "trendline",
    symbol: "X",
    anchors: [
      { time: 100, price: 10 },
      { time: to, price: 20 },
    ],
  });
  const times = (to: number) => {
    l.chosen = "t";
    l.show([trend(to)], "1h");
    l.updateAllViews();
    return l.timeAxisViews().map((v) => v.coordinate());
  };
  expect(times(150)).toEqual([100]);
  expect(times(400)).toEqual([100, 400]);
});
