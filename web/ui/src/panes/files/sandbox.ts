// A worker that runs the model's JavaScript. It is served with its own content security policy, which allows evaluating
// code but no requests or imports. The page ends it after a timeout. It gets the code first and the data only after the
// code has compiled, so that syntax errors cannot contain data and can be sent in full.

interface Order {
  source: number;
  steps: { columns: string[]; rows: unknown[][] }[];
}

const maxRows = 100_000;

// Removes from the worker's scope what could send data.
for (const name of [
  "fetch",
  "XMLHttpRequest",
  "WebSocket",
  "WebSocketStream",
  "WebTransport",
  "EventSource",
  "importScripts",
  "indexedDB",
  "caches",
  "BroadcastChannel",
  "Worker",
  "SharedWorker",
  "navigator",
]) {
  try {
    Object.defineProperty(globalThis, name, { value: undefined, configurable: false, writable: false });
  } catch {
    // The property cannot be redefined, but the policy still applies.
  }
}

const reply = postMessage.bind(globalThis);

function objects(step: Order["steps"][number]): Record<string, unknown>[] {
  return step.rows.map((row) => Object.fromEntries(step.columns.map((c, i) => [c, row[i]])));
}

function table(value: unknown): { columns: string[]; rows: unknown[][]; rowCount: number } {
  const list = Array.isArray(value) ? (value as unknown[]) : [value];
  const columns: string[] = [];
  const seen = new Set<string>();
  const some = list
    .slice(0, maxRows)
    .map((v) =>
      typeof v === "object" && v !== null && !Array.isArray(v) ? (v as Record<string, unknown>) : { value: v },
    );
  for (const o of some)
    for (const k of Object.keys(o)) if (!seen.has(k) && seen.size < 1000) (seen.add(k), columns.push(k));
  const rows = some.map((o) => columns.map((c) => plain(o[c])));
  return { columns, rows, rowCount: list.length };
}

function plain(v: unknown): unknown {
  if (v === undefined || v === null || typeof v === "function" || typeof v === "symbol") return null;
  if (typeof v === "number") return Number.isFinite(v) ? v : null;
  if (typeof v === "bigint")
    return v <= BigInt(Number.MAX_SAFE_INTEGER) && v >= -BigInt(Number.MAX_SAFE_INTEGER) ? Number(v) : String(v);
  if (v instanceof Date) return Number.isNaN(v.getTime()) ? null : v.toISOString();
  if (typeof v === "object") return JSON.stringify(v);
  return v;
}

type Transform = (data: unknown, all: unknown) => Promise<unknown>;
let transform: Transform | undefined;

const messageOf = (err: unknown) => (err instanceof Error ? `${err.name}: ${err.message}` : "");

addEventListener("message", async (e: MessageEvent<{ code: string } | Order>) => {
  if ("code" in e.data) {
    try {
      transform = new Function(
        "data",
        "allSteps",
        `"use strict"; return (async () => {\n${e.data.code}\n})()`,
      ) as Transform;
      reply({ ready: true });
    } catch (err) {
      reply({ error: messageOf(err) });
    }
    return;
  }
  const { source, steps } = e.data;
  try {
    const all = steps.map(objects);
    reply({ result: table(await transform!(all[source] ?? [], all)) });
  } catch (err) {
    reply({ error: messageOf(err) });
  }
});
