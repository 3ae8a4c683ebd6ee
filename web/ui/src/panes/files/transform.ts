import type { Cell, Column } from "../../log/events";
import { CodeError, OurError, type LocalResult } from "./cells";

export interface Step {
  columns: Column[];
  rows: Cell[][];
}

interface Reply {
  ready?: true;
  error?: string;
  result?: { columns: string[]; rows: Cell[][]; rowCount: number };
}

const timeout = 10_000; // ms
const timeoutMessage = `The transform was stopped after ${timeout / 1000} s. Compute less, or aggregate the rows in SQL first.`;

/** Runs a transform in its own worker. The worker is ended after the answer, a timeout or the signal. */
export function transform(code: string, source: number, steps: Step[], signal: AbortSignal): Promise<LocalResult> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL("./sandbox.ts", import.meta.url), { type: "module" });
    const end = (f: () => void) => {
      clearTimeout(timer);
      signal.removeEventListener("abort", stopped);
      worker.terminate();
      f();
    };
    const stopped = () => end(() => reject(new DOMException("stopped", "AbortError")));
    const timer = setTimeout(() => end(() => reject(new OurError(timeoutMessage))), timeout);
    signal.addEventListener("abort", stopped);
    let hasData = false; // from then on, errors may contain data
    worker.onmessage = (e: MessageEvent<Reply>) => {
      const { error, result, ready } = e.data;
      if (ready && !hasData) {
        hasData = true;
        return worker.postMessage({
          source,
          steps: steps.map((s) => ({ columns: s.columns.map((c) => c.name), rows: s.rows })),
        });
      }
      if (!result)
        return end(() =>
          reject(error ? new CodeError(error, !hasData) : new OurError("The code threw a value that is not an Error.")),
        );
      end(() =>
        resolve({
          columns: result.columns.map((name, i) => ({ name, kind: kindOf(result.rows, i) })),
          rows: result.rows,
          rowCount: result.rowCount,
        }),
      );
    };
    worker.onerror = () =>
      end(() =>
        reject(
          new OurError(
            hasData
              ? "The code crashed its worker; it may need too much memory."
              : "The worker for the code could not be started.",
          ),
        ),
      );
    worker.postMessage({ code });
  });
}

function kindOf(rows: Cell[][], i: number): string {
  let kind = "";
  for (const r of rows) {
    const v = r[i] ?? null;
    if (v === null) continue;
    const k =
      typeof v === "number"
        ? Number.isSafeInteger(v)
          ? "integer"
          : "number"
        : typeof v === "boolean"
          ? "boolean"
          : /^\d{4}-\d\d-\d\d$/.test(v)
            ? "date"
            : "text";
    if (!kind || kind === k) kind = k;
    else if (
      kind !== "text" &&
      k !== "text" &&
      (kind === "number" || kind === "integer") &&
      (k === "number" || k === "integer")
    )
      kind = "number";
    else return "text";
  }
  return kind || "text";
}
