// Runs JavaScript that a model wrote. This file is served with a policy of its own:
// it may evaluate, and neither fetch nor import. The page ends it when its time is over.
// The code comes first and the data only when it has been understood: what is wrong
// with the code alone can then be told in full.

interface Order {
  source: number;
  steps: { columns: string[]; rows: unknown[][] }[];
}

const mostRows = 100_000;

// What a worker could still reach through its scope is taken away before the code runs.
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
    // It is fixed already; the policy stops it.
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
    .slice(0, mostRows)
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

type Made = (data: unknown, all: unknown) => Promise<unknown>;
let made: Made | undefined;

const said = (err: unknown) => (err instanceof Error ? `${err.name}: ${err.message}` : "");

addEventListener("message", async (e: MessageEvent<{ code: string } | Order>) => {
  if ("code" in e.data) {
    try {
      made = new Function("data", "allSteps", `"use strict"; return (async () => {\n${e.data.code}\n})()`) as Made;
      reply({ ready: true });
    } catch (err) {
      reply({ error: said(err) });
    }
    return;
  }
  const { source, steps } = e.data;
  try {
    const all = steps.map(objects);
    reply({ result: table(await made!(all[source] ?? [], all)) });
  } catch (err) {
    reply({ error: said(err) });
  }
});
