// @vitest-environment happy-dom
import { act } from "react";
import { createRoot } from "react-dom/client";
import { afterEach, expect, test, vi } from "vitest";
import { api, type Session } from "../api/client";
import { useChartCalls } from "../market/calls";
import type { Parts } from "../market/useBoard";
import { useClientTools } from "../panes/files/clientTools";
import { tables } from "../panes/files/store";
import type { LogEvent } from "./events";
import { Log } from "./store";
import { learnTools } from "./tools";

Object.assign(globalThis, { IS_REACT_ACT_ENVIRONMENT: true });

const files = vi.hoisted(() => ({ files: [] }));
vi.mock("../panes/files/store", () => ({
  useLocal: () => files,
  local: () => files,
  tables: vi.fn(() => Promise.resolve([])),
  query: vi.fn(),
}));

/** A log of before calls had families, in which a run waits for one. */
function parked(id: string, name: string): Log {
  const log = new Log(id);
  const base = { time: "2026-01-01T00:00:00Z", run: "run_1" };
  const usage = { input: 0, output: 0 };
  const said = { step: 1, model: "m", stop_reason: "tool_use", usage, cost: { micro_usd: 0 } };
  const bodies = [
    ["user_message", { text: "?" }],
    ["run_started", { door: "app" }],
    ["assistant_message", { ...said, blocks: [{ type: "tool_use", id: "t1", name, input: { time: 1 } }] }],
    ["run_parked", { calls: ["t1"], deadline: "2026-01-01T00:05:00Z" }],
  ] as const;
  log.add(bodies.map(([kind, body], n) => ({ event: { ...base, seq: n + 1, kind, body } as LogEvent })));
  log.flush();
  return log;
}

const learn = (name: string, family: string) =>
  act(async () => {
    learnTools([{ tools: [{ name, family, side: "client", read_only: true, verdict: "allow" }] }]);
    await Promise.resolve();
  });

let root: ReturnType<typeof createRoot> | undefined;
async function show(Page: () => null) {
  root = createRoot(document.createElement("div"));
  await act(async () => root!.render(<Page />));
}
afterEach(async () => {
  await act(async () => root?.unmount());
  vi.restoreAllMocks();
});

test("the chart answers a call of an older log once it knows the tools", async () => {
  const turn = vi.spyOn(api, "turn").mockResolvedValue({} as never);
  const log = parked("conv_chart", "draw_old");
  const parts = { feed: {}, plot: {} } as Parts;
  await show(() => {
    useChartCalls(log, parts);
    return null;
  });
  expect(turn).not.toHaveBeenCalled();
  await learn("draw_old", "drawing");
  await vi.waitFor(() => expect(turn).toHaveBeenCalledOnce());
  expect(turn.mock.lastCall).toMatchObject(["conv_chart", { answers: [{ call_id: "t1" }] }]);
});

test("the browser runs a query of an older log once it knows the tools", async () => {
  const log = parked("conv_query", "query_old");
  await show(() => {
    useClientTools(log, { offline: true } as Session);
    return null;
  });
  expect(tables).not.toHaveBeenCalled();
  await learn("query_old", "query");
  await vi.waitFor(() => expect(tables).toHaveBeenCalled());
});
