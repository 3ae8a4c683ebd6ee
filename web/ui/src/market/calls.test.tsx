// @vitest-environment happy-dom
import { act } from "react";
import { createRoot } from "react-dom/client";
import { afterEach, expect, test, vi } from "vitest";
import { api } from "../api/client";
import { learn, parked } from "../log/fixtures/older";
import { useChartCalls } from "./calls";
import type { Parts } from "./useBoard";

Object.assign(globalThis, { IS_REACT_ACT_ENVIRONMENT: true });

let root: ReturnType<typeof createRoot> | undefined;
async function show(Page: () => null) {
  root = createRoot(document.createElement("div"));
  await act(async () => root!.render(<Page />));
}
afterEach(async () => {
  await act(async () => root?.unmount());
  vi.restoreAllMocks();
});

test("the chart answers a call in an older log once the tools are loaded", async () => {
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
