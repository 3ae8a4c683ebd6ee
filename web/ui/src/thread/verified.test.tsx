// @vitest-environment happy-dom
import { act } from "react";
import { createRoot } from "react-dom/client";
import { afterEach, expect, test } from "vitest";
import { recorded } from "../log/fixtures/read";
import type { LogEvent } from "../log/events";
import { Log } from "../log/store";
import { Thread } from "./Thread";

Object.assign(globalThis, { IS_REACT_ACT_ENVIRONMENT: true });

let root: ReturnType<typeof createRoot> | undefined;
afterEach(async () => act(async () => root?.unmount()));

/** Returns the text of the page that shows a recorded conversation, after a change to its events. */
async function shown(change: (e: LogEvent) => LogEvent): Promise<string> {
  const log = new Log("conv_1");
  const host = document.body.appendChild(document.createElement("div"));
  root = createRoot(host);
  await act(async () => root!.render(<Thread log={log} />));
  await act(async () => {
    log.add(recorded("months").map((e) => ({ event: change(e) })));
    log.flush();
    await Promise.resolve();
  });
  return host.textContent ?? "";
}

test("an answer shows who verified its query, and for which question", async () => {
  const verified = { result: "r1", query: "revenue", question: "Revenue by month", by: "Ann", on: "2026-11-02" };
  const text = await shown((e) => (e.kind === "answered" ? { ...e, body: { ...e.body, verified: [verified] } } : e));
  expect(text).toContain("“Revenue by month”: verified by Ann on 2 November 2026");
});

test("an answer without a verified query shows no badge", async () => {
  expect(await shown((e) => e)).not.toContain("verified by");
});
