import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { recorded } from "./fixtures/read";
import { Log } from "./store";

const sse = (events: { seq: number; kind: string }[]) =>
  events.map((e) => `id: ${e.seq}\nevent: ${e.kind}\ndata: ${JSON.stringify(e)}\n\n`).join("");

/** Stubs fetch with a server that streams the log. Each entry of cuts is for one request: the sequence after which the
 *  connection breaks, -1 for a network error, -2 for a 404. */
function server(cuts: number[]) {
  const asked: string[] = [];
  const events = recorded("months");
  const fetch = vi.fn(async (url: string, init: { signal: AbortSignal }) => {
    asked.push(url);
    const after = Number(new URL(url, "http://x").searchParams.get("after"));
    const cut = cuts.shift();
    if (cut === -1) throw new TypeError("network");
    if (cut === -2)
      return new Response('{"error":{"code":"not_found","message":"There is no such conversation."}}', { status: 404 });
    const some = events.filter((e) => e.seq > after && (cut === undefined || e.seq <= cut));
    const body = new ReadableStream<Uint8Array>(
      {
        start(c) {
          c.enqueue(new TextEncoder().encode(sse(some)));
          init.signal.addEventListener("abort", () => c.error(new DOMException("", "AbortError")));
        },
        pull(c) {
          if (cut !== undefined) c.error(new TypeError("cut off"));
        },
      },
      { highWaterMark: 1 },
    );
    return new Response(body, { status: 200 });
  });
  vi.stubGlobal("fetch", fetch);
  return asked;
}

beforeEach(() => {
  vi.useFakeTimers();
  vi.stubGlobal("addEventListener", () => {});
  vi.stubGlobal("removeEventListener", () => {});
  vi.stubGlobal("document", { hidden: true });
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

test("reconnecting continues after the last event", async () => {
  const asked = server([4, -1, 9]);
  const log = new Log("conv_1");
  const states = new Set<string>();
  log.subscribe(() => states.add(log.connection().state));
  const stop = log.follow();
  await vi.advanceTimersByTimeAsync(20_000);
  expect(asked.map((u) => new URL(u, "http://x").searchParams.get("after"))).toEqual(["0", "4", "4", "9"]);
  expect(log.conversation().last).toBe(11);
  expect(log.conversation().turns).toHaveLength(1);
  expect([...states]).toEqual(["connecting", "open", "waiting"]);
  expect(log.connection().state).toBe("open");
  stop();
  await vi.advanceTimersByTimeAsync(1000);
  expect(log.connection().state).toBe("off");
});

test("a refused request is not repeated automatically", async () => {
  const asked = server([-2, 11]);
  const log = new Log("conv_1");
  const stop = log.follow();
  await vi.advanceTimersByTimeAsync(60_000);
  expect(asked).toHaveLength(1);
  expect(log.connection()).toEqual({ state: "refused", status: 404, why: "There is no such conversation." });
  log.retry();
  await vi.advanceTimersByTimeAsync(100);
  expect(log.conversation().last).toBe(11);
  stop();
});

test("a silent connection is replaced", async () => {
  const asked = server([]);
  const log = new Log("conv_1");
  const stop = log.follow();
  await vi.advanceTimersByTimeAsync(44_000);
  expect(asked).toHaveLength(1);
  await vi.advanceTimersByTimeAsync(3_000);
  expect(asked).toHaveLength(2);
  stop();
});

test("a log that was restored from a backup is read from the start", async () => {
  const asked: string[] = [];
  const events = recorded("months");
  vi.stubGlobal("fetch", async (url: string) => {
    asked.push(new URL(url, "http://x").searchParams.get("after")!);
    const text =
      asked.length === 2
        ? 'id: 4\nevent: reset\ndata: {"last":4,"asked":9}\n\n'
        : sse(events.slice(0, asked.length === 1 ? 9 : 4));
    return new Response(text, { status: 200 });
  });
  const log = new Log("conv_1");
  const stop = log.follow();
  await vi.advanceTimersByTimeAsync(110);
  expect(asked.slice(0, 3)).toEqual(["0", "9", "0"]);
  expect(log.conversation().last).toBe(4);
  stop();
});

test("the stored events are shown at once, but a part of them after three seconds", async () => {
  const events = recorded("months");
  let c!: ReadableStreamDefaultController<Uint8Array>;
  const send = (from: number, to: number) => c.enqueue(new TextEncoder().encode(sse(events.slice(from, to))));
  vi.stubGlobal("fetch", async () => {
    const body = new ReadableStream<Uint8Array>({ start: (into) => void (c = into) });
    return new Response(body, { headers: { "X-Log-Last": "9" } });
  });
  for (const slow of [false, true]) {
    const log = new Log("conv_1");
    const stop = log.follow();
    const shown = async (ms: number) => {
      await vi.advanceTimersByTimeAsync(ms);
      return log.conversation().last;
    };
    await shown(100);
    send(0, 4);
    expect(await shown(2000)).toBe(0);
    if (slow) expect(await shown(1000)).toBe(4);
    send(4, 9);
    expect(await shown(100)).toBe(9);
    send(9, 10);
    expect(await shown(100)).toBe(10);
    stop();
  }
});

test("a connection that breaks shows what it has read of the stored events", async () => {
  const events = recorded("months");
  vi.stubGlobal("fetch", async () => new Response(sse(events.slice(0, 4)), { headers: { "X-Log-Last": "9" } }));
  const log = new Log("conv_1");
  const stop = log.follow();
  await vi.advanceTimersByTimeAsync(100);
  expect(log.conversation().last).toBe(4);
  stop();
});
