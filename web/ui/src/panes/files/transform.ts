import type { Cell, Column } from "../../log/events";
import type { Whole } from "./cells";

export interface Step {
  columns: Column[];
  rows: Cell[][];
}

const limit = 10_000; // ms

/** Runs a transform in a worker of its own, which is ended when it has answered, when
 *  its time is over, or when nobody waits any more. */
export function transform(code: string, source: number, steps: Step[], signal: AbortSignal): Promise<Whole> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL("./sandbox.ts", import.meta.url), { type: "module" });
    const end = (f: () => void) => {
      clearTimeout(timer);
      signal.removeEventListener("abort", stopped);
      worker.terminate();
      f();
    };
    const stopped = () => end(() => reject(new DOMException("stopped", "AbortError")));
    const timer = setTimeout(() => end(() => reject(new Error("RangeError: the code took longer than 10 seconds."))), limit);
    signal.addEventListener("abort", stopped);
    worker.onmessage = (e: MessageEvent<{ error?: string; result?: { columns: string[]; rows: Cell[][]; rowCount: number } }>) => {
      const { error, result } = e.data;
      if (!result) return end(() => reject(new Error(error ?? "Error")));
      end(() => resolve({ columns: result.columns.map((name, i) => ({ name, kind: kindOf(result.rows, i) })), rows: result.rows, rowCount: result.rowCount }));
    };
    worker.onerror = () => end(() => reject(new Error("Error: the worker could not be started.")));
    worker.postMessage({ code, source, steps: steps.map((s) => ({ columns: s.columns.map((c) => c.name), rows: s.rows })) });
  });
}

function kindOf(rows: Cell[][], i: number): string {
  let kind = "";
  for (const r of rows) {
    const v = r[i] ?? null;
    if (v === null) continue;
    const k =
      typeof v === "number" ? (Number.isSafeInteger(v) ? "integer" : "number")
      : typeof v === "boolean" ? "boolean"
      : /^\d{4}-\d\d-\d\d$/.test(v) ? "date"
      : "text";
    if (!kind || kind === k) kind = k;
    else if (kind !== "text" && k !== "text" && (kind === "number" || kind === "integer") && (k === "number" || k === "integer")) kind = "number";
    else return "text";
  }
  return kind || "text";
}
