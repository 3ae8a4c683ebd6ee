// @vitest-environment happy-dom
import { act } from "react";
import { createRoot } from "react-dom/client";
import { afterEach, expect, test, vi } from "vitest";
import { recorded } from "../log/fixtures/read";
import type { Frame, LogEvent } from "../log/events";
import { Log } from "../log/store";
import { renders } from "../lib/renders";
import { Thread } from "./Thread";

Object.assign(globalThis, { IS_REACT_ACT_ENVIRONMENT: true });

/** Makes a log of several turns by repeating a recorded one. */
function conversation(turns: number): LogEvent[] {
  const one = recorded("months");
  return Array.from({ length: turns }, (_, n) =>
    one.map((e) => {
      const body = e.kind === "answered" ? { ...e.body } : e.body;
      return { ...e, seq: e.seq + n * one.length, run: `run_${n}`, body } as LogEvent;
    }),
  ).flat();
}

let root: ReturnType<typeof createRoot> | undefined;
afterEach(async () => {
  await act(async () => root?.unmount());
  renders.clear();
});

test("finished turns do not render again", async () => {
  const log = new Log("conv_1");
  const show = async (frames: Frame[]) =>
    act(async () => {
      log.add(frames);
      log.flush();
      await Promise.resolve();
    });
  const host = document.body.appendChild(document.createElement("div"));
  root = createRoot(host);
  await act(async () => root!.render(<Thread log={log} />));
  const events = conversation(20);
  await show(events.map((event) => ({ event })));
  const finished = events.filter((e) => e.kind === "user_message").map((e) => `turn ${e.seq}`);
  expect(finished).toHaveLength(20);
  const seq = events.length;
  await show([
    {
      event: {
        seq: seq + 1,
        time: "2026-01-01T00:00:00Z",
        kind: "user_message",
        run: "run_x",
        body: { text: "And now?" },
      },
    },
    { event: { seq: seq + 2, time: "2026-01-01T00:00:00Z", kind: "run_started", run: "run_x", body: { door: "app" } } },
  ]);
  // The last finished turn has rendered once more, because it is no longer the last turn.
  const settled = new Map(renders);
  for (let i = 0; i < 200; i++) {
    await show([
      {
        delta: {
          run: "run_x",
          step: 1,
          attempt: 1,
          index: 0,
          kind: "text",
          op: i ? "grow" : "start",
          text: `word ${i} `,
        },
      },
    ]);
  }
  // The Markdown renderer is loaded when it is first needed.
  await vi.waitFor(() => act(async () => expect(host.textContent).toContain("word 199")), { timeout: 10_000 });
  for (const name of finished) {
    expect(renders.get(name), `${name} while the next answer grew`).toBe(settled.get(name));
    expect(renders.get(name), name).toBeLessThanOrEqual(name === finished.at(-1) ? 2 : 1);
  }
  expect(renders.get(`turn ${seq + 1}`)).toBeLessThanOrEqual(2);
}, 30_000);
