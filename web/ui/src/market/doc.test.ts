import { afterEach, expect, test, vi } from "vitest";
import { forgetDrafts } from "../composer/drafts";
import { Doc, undoneSteps } from "./doc";
import type { Change, Drawing } from "./types";

const symbol = "EURUSD";
const line = (id: string, price: number, version: number): Drawing => ({
  id,
  type: "horizontal_line",
  symbol,
  timeframe: "1h",
  price,
  version,
});
const change = (version: number, more: Partial<Change> = {}): Change => ({
  version,
  step: version,
  at: "",
  by: "human",
  drawing: `d${version}`,
  action: "create",
  before: null,
  after: line(`d${version}`, version, version),
  changes: {},
  ...more,
});

afterEach(() => {
  vi.unstubAllGlobals();
  vi.useRealTimers();
  forgetDrafts();
});

/** Opens a document with a stubbed server. `tell` sends changes on its stream. */
async function opened(answer: (method: string, path: string, body: Record<string, unknown>) => unknown = () => ({})) {
  vi.stubGlobal("navigator", {}); // no locks: this tab reads the stream itself
  const asked: { path: string; body: Record<string, unknown> }[] = [];
  let stream!: ReadableStreamDefaultController<Uint8Array>;
  const streamed = new ReadableStream<Uint8Array>({ start: (c) => void (stream = c) });
  let following = false;
  vi.stubGlobal("fetch", async (path: string, init: RequestInit = {}) => {
    if (path.includes("/stream")) {
      following = true;
      return new Response(streamed, { headers: { "Content-Type": "text/event-stream" } });
    }
    const body = init.body ? (JSON.parse(init.body as string) as Record<string, unknown>) : {};
    asked.push({ path, body });
    if (path.includes("/history")) return Response.json({ changes: [] });
    const out = await answer(init.method ?? "GET", path, body);
    return out instanceof Response
      ? out
      : Response.json({ version: 0, drawings: [], can_undo: false, can_redo: false, ...(out as object) });
  });
  const doc = new Doc(symbol);
  const end = doc.open();
  await vi.waitFor(() => expect(following).toBe(true));
  const tell = (...all: Change[]) =>
    stream.enqueue(
      new TextEncoder().encode(all.map((c) => `id: ${c.version}\ndata: ${JSON.stringify(c)}\n\n`).join("")),
    );
  const reset = () => stream.enqueue(new TextEncoder().encode("event: reset\ndata: {}\n\n"));
  return { doc, end, tell, reset, asked };
}

test("changes that arrive together are shown together, without requests", async () => {
  const { doc, end, tell, asked } = await opened();
  const before = asked.length;
  let times = 0;
  doc.subscribe(() => times++);
  tell(...Array.from({ length: 500 }, (_, i) => change(i + 1, { action: "import", step: 1 })));
  await vi.waitFor(() => expect(doc.get().drawings.length).toBe(500));
  expect(times).toBe(1);
  expect(asked.length).toBe(before);
  expect(doc.get()).toMatchObject({ version: 500, canUndo: true, canRedo: false, more: true });
  expect(doc.get().trail.map((c) => c.version)).toEqual(Array.from({ length: 50 }, (_, i) => 500 - i));
  end();
});

test("after a reset, the document is loaded again until it succeeds", async () => {
  let away = false;
  const { doc, end, reset, asked } = await opened((_, path) =>
    away && path.startsWith("/api/drawings?")
      ? Response.json({ error: { message: "away" } }, { status: 503 })
      : { drawings: away ? [] : [line("d1", 1, 1)] },
  );
  await vi.waitFor(() => expect(doc.get().drawings.length).toBe(1));
  vi.useFakeTimers({ shouldAdvanceTime: true });
  away = true;
  const before = asked.length;
  reset();
  await vi.waitFor(() => expect(asked.length).toBeGreaterThan(before));
  await vi.waitFor(() => expect(doc.get().error).toBeDefined());
  away = false;
  const again = asked.length;
  await vi.advanceTimersByTimeAsync(5000);
  expect(asked.length).toBeGreaterThan(again);
  await vi.waitFor(() => expect(doc.get().error).toBeUndefined());
  end();
});

test("an older response does not undo changes from the stream", async () => {
  let undone = (_: Response) => {};
  const { doc, end, tell } = await opened((_m, path) =>
    path.includes("/undo") ? new Promise<Response>((resolve) => (undone = resolve)) : {},
  );
  const back = doc.undoOrRedo("undo");
  tell(...Array.from({ length: 300 }, (_, i) => change(i + 2, { action: "import", step: 2 })));
  await vi.waitFor(() => expect(doc.get().version).toBe(301));
  undone(Response.json({ version: 1, drawings: [], can_undo: false, can_redo: true }));
  await back;
  expect(doc.get().drawings.length).toBe(300);
  expect(doc.get()).toMatchObject({ version: 301, canUndo: true, canRedo: false });
  end();
});

test("an undo of many changes sends at most one request at a time", async () => {
  let all = 0;
  const { doc, end, tell } = await opened((_m, path) =>
    path.startsWith("/api/drawings?") ? { version: ++all > 1 ? 400 : 0, can_undo: false, can_redo: true } : {},
  );
  tell(...Array.from({ length: 400 }, (_, i) => change(i + 1, { action: "undo", after: null, reverts: 1 })));
  await vi.waitFor(() => expect(doc.get()).toMatchObject({ version: 400, canUndo: false, canRedo: true }));
  expect(all).toBe(2); // when it was opened, and now
  end();
});

test("a step is undone until it is redone", () => {
  const drew = change(1, { drawing: "d" });
  const moved = change(2, { drawing: "d", action: "update" });
  const undo = change(3, { drawing: "d", action: "undo", reverts: 2 });
  const redo = change(4, { drawing: "d", action: "redo", reverts: 2 });
  expect(undoneSteps([moved, drew])).toEqual(new Set());
  expect(undoneSteps([undo, moved, drew])).toEqual(new Set([2]));
  expect(undoneSteps([redo, undo, moved, drew])).toEqual(new Set());
  expect(undoneSteps([change(5, { action: "undo", reverts: 2 }), redo, undo, moved, drew])).toEqual(new Set([2]));
});

test("reverting a change undoes its whole step", async () => {
  const { doc, end, asked } = await opened();
  await doc.revert(change(9, { action: "import", step: 7 }));
  expect(asked.at(-1)).toMatchObject({ path: "/api/drawings/undo", body: { symbol, version: 7 } });
  end();
});

test("unsaved changes block leaving the page, and the next page sends them once", async () => {
  const asks = new Set<unknown>();
  vi.stubGlobal("addEventListener", (name: string, f: unknown) => name === "beforeunload" && asks.add(f));
  vi.stubGlobal("removeEventListener", (_: string, f: unknown) => asks.delete(f));
  const there = { version: 4, drawings: [line("d1", 1, 3), line("d2", 2, 4)] };
  const first = await opened((method) => (method === "GET" ? there : Response.json({}, { status: 503 })));
  await vi.waitFor(() => expect(first.doc.get().drawings.length).toBe(2));
  first.doc.add({ type: "horizontal_line", symbol, timeframe: "1h", price: 3 });
  first.doc.save({ ...line("d1", 1, 3), price: 1.5 });
  first.doc.remove("d2");
  await vi.waitFor(() => expect(first.doc.get().notice).toMatch(/^Not saved yet/));
  expect(asks.size).toBe(1);
  const posted = (all: typeof first.asked) =>
    all.filter((a) => a.path === "/api/drawings").map((a) => [a.body.key, a.body.base_version]);
  const keys = posted(first.asked);
  expect(keys.length).toBe(2);
  first.end();

  // The page is closed, and another device has changed d1.
  const second = await opened((method, path, body) => {
    if (method === "DELETE") return { version: 7 };
    if (path === "/api/drawings" && body.base_version === 3)
      return Response.json({ error: { code: "conflict", message: "It has changed." } }, { status: 409 });
    if (path === "/api/drawings")
      return { version: 6, drawing: { ...(body.drawing as Drawing), id: "d6", version: 6 } };
    return { version: 5, drawings: [line("d1", 9, 5), line("d2", 2, 4)] };
  });
  await vi.waitFor(() =>
    expect(second.doc.get()).toMatchObject({ unsaved: 0, notice: expect.stringMatching(/changed elsewhere/) }),
  );
  expect(posted(second.asked)).toEqual(keys);
  expect(second.asked.find((a) => a.path.startsWith("/api/drawings/d2"))?.path).toMatch(/base_version=4/);
  second.end();
});

test("trySave resolves with the reason of a refusal", async () => {
  const { doc, end } = await opened((method, _p, body) => {
    const d = body.drawing as Drawing;
    if (method === "GET") return { version: 1, drawings: [line("d1", 1, 1)] };
    if (d.price === 0)
      return Response.json({ error: { code: "invalid_request", message: "A price is above 0." } }, { status: 400 });
    return { version: 2, drawing: { ...d, version: 2 } };
  });
  await vi.waitFor(() => expect(doc.get().drawings.length).toBe(1));
  expect(await doc.trySave({ ...line("d1", 1, 1), price: 0 })).toEqual({ words: "A price is above 0.", stale: false });
  expect(doc.get()).toMatchObject({ unsaved: 0, drawings: [{ price: 1 }] });
  expect(doc.get().notice).toBeUndefined(); // the caller shows the refusal
  expect(await doc.trySave({ ...line("d1", 1, 1), price: 2 })).toBeUndefined();
  expect(doc.find("d1")).toMatchObject({ price: 2, version: 2 });
  end();
});

/** Stubs a server with one drawing that detects conflicts as the real one does. */
function oneDrawingServer(first: Drawing) {
  const state = { now: first, down: false, lost: false };
  const taken = new Map<unknown, Drawing>();
  const answers = (_m: string, path: string, body: Record<string, unknown>): unknown => {
    if (path !== "/api/drawings") return { version: state.now.version!, drawings: [state.now] };
    if (state.down) return Promise.reject(new TypeError("no network"));
    let drawing = taken.get(body.key);
    if (!drawing) {
      if (body.base_version !== state.now.version)
        return Response.json({ error: { code: "conflict", message: "It has changed." } }, { status: 409 });
      drawing = { ...(body.drawing as Drawing), version: state.now.version! + 1 };
      taken.set(body.key, (state.now = drawing));
    }
    return state.lost ? Promise.reject(new TypeError("no network")) : { version: drawing.version, drawing };
  };
  return { state, answers };
}

test("a change based on an older version does not overwrite someone else's change", async () => {
  const { state, answers } = oneDrawingServer(line("d1", 1, 1));
  const { doc, end, tell } = await opened(answers);
  await vi.waitFor(() => expect(doc.find("d1")).toBeDefined());
  const seen = doc.find("d1")!; // for example in a dialog or while dragging
  state.now = line("d1", 9, 2);
  tell(change(2, { drawing: "d1", action: "update", by: "agent", after: state.now }));
  await vi.waitFor(() => expect(doc.find("d1")).toMatchObject({ price: 9 }));
  expect(await doc.trySave({ ...seen, label: "Mine" })).toMatchObject({
    stale: true,
    words: expect.stringMatching(/changed elsewhere/),
  });
  expect(doc.find("d1")).toMatchObject({ price: 9, version: 2 });
  expect(await doc.trySave({ ...doc.find("d1")!, label: "Mine" })).toBeUndefined();
  expect(state.now).toMatchObject({ price: 9, label: "Mine", version: 3 });
  end();
});

test("a change that waited for the connection does not overwrite someone else's change", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout"] });
  const { state, answers } = oneDrawingServer(line("d1", 1, 1));
  const { doc, end, tell } = await opened(answers);
  await vi.waitFor(() => expect(doc.find("d1")).toBeDefined());
  state.down = true;
  doc.save({ ...doc.find("d1")!, price: 2 });
  await vi.waitFor(() => expect(doc.get().notice).toMatch(/^Not saved yet/));
  state.down = false;
  state.now = line("d1", 9, 2);
  tell(change(2, { drawing: "d1", action: "update", by: "agent", after: state.now }));
  await vi.waitFor(() => expect(doc.get().version).toBe(2));
  await vi.advanceTimersByTimeAsync(3000);
  await vi.waitFor(() =>
    expect(doc.get()).toMatchObject({ unsaved: 0, notice: expect.stringMatching(/changed elsewhere/) }),
  );
  expect(doc.find("d1")).toMatchObject({ price: 9, version: 2 });
  end();
});

test("a page does not conflict with its own changes", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout"] });
  const { state, answers } = oneDrawingServer(line("d1", 1, 1));
  const { doc, end } = await opened(answers);
  await vi.waitFor(() => expect(doc.find("d1")).toBeDefined());
  const held = doc.find("d1")!; // for a drag that ends after the next two changes are saved
  doc.save({ ...held, price: 2 });
  doc.save({ ...doc.find("d1")!, price: 3 });
  await vi.waitFor(() => expect(doc.get().unsaved).toBe(0));
  doc.save({ ...held, price: 4 });
  await vi.waitFor(() => expect(doc.get().unsaved).toBe(0));
  expect(state.now).toMatchObject({ price: 4, version: 4 });
  // The server accepts a change, but its response is lost; then there is another change.
  state.lost = true;
  doc.save({ ...doc.find("d1")!, price: 5 });
  await vi.waitFor(() => expect(doc.get().notice).toMatch(/^Not saved yet/));
  state.lost = false;
  doc.save({ ...doc.find("d1")!, price: 6 });
  await vi.advanceTimersByTimeAsync(3000);
  await vi.waitFor(() => expect(doc.get().unsaved).toBe(0));
  expect(state.now).toMatchObject({ price: 6, version: 6 });
  expect(doc.get().notice).toBeUndefined();
  end();
});

test("the next page does not conflict with a change whose response was lost", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout"] });
  const { state, answers } = oneDrawingServer(line("d1", 1, 1));
  const first = await opened(answers);
  await vi.waitFor(() => expect(first.doc.find("d1")).toBeDefined());
  state.lost = true;
  first.doc.save({ ...first.doc.find("d1")!, price: 2 });
  await vi.waitFor(() => expect(first.doc.get().notice).toMatch(/^Not saved yet/));
  first.doc.save({ ...first.doc.find("d1")!, price: 3 });
  first.end();
  state.lost = false;
  const second = await opened(answers);
  await vi.waitFor(() => expect(second.doc.get()).toMatchObject({ loading: false, unsaved: 0 }));
  expect(state.now).toMatchObject({ price: 3, version: 3 });
  expect(second.doc.get().notice).toBeUndefined();
  second.end();
});
