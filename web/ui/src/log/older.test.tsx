// @vitest-environment happy-dom
import { act } from "react";
import { createRoot } from "react-dom/client";
import { afterEach, expect, test, vi } from "vitest";
import type { Session } from "../api/client";
import { useClientTools } from "../panes/files/clientTools";
import { tables } from "../panes/files/store";
import { learn, parked } from "./fixtures/older";

Object.assign(globalThis, { IS_REACT_ACT_ENVIRONMENT: true });

const files = vi.hoisted(() => ({ files: [] }));
vi.mock("../panes/files/store", () => ({
  useLocal: () => files,
  local: () => files,
  tables: vi.fn(() => Promise.resolve([])),
  query: vi.fn(),
}));

let root: ReturnType<typeof createRoot> | undefined;
async function show(Page: () => null) {
  root = createRoot(document.createElement("div"));
  await act(async () => root!.render(<Page />));
}
afterEach(async () => {
  await act(async () => root?.unmount());
  vi.restoreAllMocks();
});

test("the browser runs a call in an older log once the tools are loaded", async () => {
  const log = parked("conv_query", "query_old");
  await show(() => {
    useClientTools(log, { offline: true } as Session);
    return null;
  });
  expect(tables).not.toHaveBeenCalled();
  await learn("query_old", "query");
  await vi.waitFor(() => expect(tables).toHaveBeenCalled());
});
