import { describe, expect, test } from "vitest";
import { answerText, applyDelta, applyEvent, busy, empty, mainResult, steps, type Conversation } from "./conversation";
import type { Bodies, Delta, Kind, LogEvent } from "./events";
import { recorded } from "./fixtures/read";

const play = (events: LogEvent[], from: Conversation = empty("conv_1")) => events.reduce(applyEvent, from);

/** Makes events from kinds and bodies, numbered from 1. */
function log<K extends Kind>(...entries: [K, Partial<Bodies[K]>][]): LogEvent[] {
  return entries.map(
    ([kind, body], i) =>
      ({ seq: i + 1, time: "2026-01-01T00:00:00Z", kind, run: "run_1", body }) as unknown as LogEvent,
  );
}

const usage = { input: 0, output: 0 };
const cost = { micro_usd: 0 };
const says = (step: number, ...blocks: object[]) =>
  ["assistant_message", { step, blocks, usage, cost }] as ["assistant_message", never];
const call = (id: string, name = "run_query", input: object = {}) => ({ type: "tool_use", id, name, input });
const delta = (d: Partial<Delta>): Delta => ({
  run: "run_1",
  step: 1,
  attempt: 1,
  index: 0,
  kind: "text",
  op: "grow",
  ...d,
});

describe("recorded logs", () => {
  test.each([
    ["count", 1, "How many orders are there?", /^There are \*\*846\*\* orders/],
    ["months", 1, "Revenue by month", /^Revenue by month was highest/],
    ["top", 1, "top 3 countries by number of customers", /^Germany has the highest/],
  ] as const)("%s", (name, turns, question, answer) => {
    const events = recorded(name);
    const c = play(events);
    expect(c.turns).toHaveLength(turns);
    const t = c.turns[0]!;
    expect(t.text).toBe(question);
    expect(t.state).toBe("finished");
    expect(t.answer?.text).toMatch(answer);
    expect(answerText(t)).toBe(t.answer?.text);
    expect(t.answer!.cites.length).toBeGreaterThan(0);
    expect(c.sources).toEqual(["shop"]);
    expect(busy(c)).toBe(false);
    expect(c.last).toBe(events.length);
    expect(mainResult(c, t)).toBe("r1");
    expect(c.results.r1?.sql).toMatch(/^SELECT/);
    for (const p of steps(t)) expect(p.kind === "tool" ? p.state : "").toBe("done");
  });

  test("applying an event twice changes nothing", () => {
    const events = recorded("months");
    const c = play(events);
    for (const ev of events) expect(applyEvent(c, ev)).toBe(c);
  });

  test("a chart is stored with its result", () => {
    expect(play(recorded("months")).results.r1?.chart).toMatchObject({ type: "line", x: "month", y: ["revenue"] });
  });
});

test("finished turns keep their identity while the next one runs", () => {
  const first = play(recorded("months"));
  const before = first.turns[0];
  let c = applyEvent(first, { seq: 12, time: "", kind: "user_message", run: "run_2", body: { text: "And by week?" } });
  c = applyEvent(c, { seq: 13, time: "", kind: "run_started", run: "run_2", body: { door: "app" } });
  const turns = c.turns;
  for (let i = 0; i < 200; i++) c = applyDelta(c, delta({ run: "run_2", op: i ? "grow" : "start", text: "a" }));
  expect(c.turns).toBe(turns);
  expect(c.turns[0]).toBe(before);
  expect(c.live?.blocks[0]?.text).toHaveLength(199);
});

test("each turn has the tier that answers it", () => {
  const c = play(
    log<Kind>(
      ["opened", { assistant: "explore", model: "middle", tier: "high" }],
      ["user_message", { text: "a" }],
      ["run_started", { door: "app", weight: 3 }],
      ["run_finished", { reason: "end_turn", millis: 1 }],
      ["user_message", { text: "b" }],
      ["run_started", { door: "app", choice: { model: "small", tier: "low" } }],
    ),
  );
  expect(c.turns.map((t) => [t.tier, t.weight])).toEqual([
    ["high", 3],
    ["low", undefined],
  ]);
  expect([c.tier, c.model]).toEqual(["low", "small"]);
});

describe("growing messages", () => {
  test("are replaced by the finished message", () => {
    let c = play(log(["user_message", { text: "q" }], ["run_started", { door: "app" }]));
    c = applyDelta(c, delta({ op: "start" }));
    c = applyDelta(c, delta({ text: "There are " }));
    c = applyDelta(c, delta({ text: "42." }));
    expect(c.live?.blocks).toEqual([{ index: 0, kind: "text", text: "There are 42.", ended: false }]);
    c = applyEvent(c, { ...log(says(1, { type: "text", text: "There are 42." }))[0]!, seq: 3 });
    expect(c.live).toBeUndefined();
    expect(answerText(c.turns[0]!)).toBe("There are 42.");
  });

  test("start from the beginning after a reconnect", () => {
    let c = empty("c");
    for (const d of [{ op: "start" }, { text: "Hel" }, { op: "start" }, { text: "Hello" }] as const)
      c = applyDelta(c, delta(d));
    expect(c.live?.blocks[0]?.text).toBe("Hello");
  });

  test("ignore deltas of an older step or attempt", () => {
    let c = applyDelta(empty("c"), delta({ step: 2, op: "start" }));
    expect(applyDelta(c, delta({ step: 1, text: "old" }))).toBe(c);
    c = applyDelta(c, delta({ step: 2, attempt: 2, op: "start" }));
    expect(applyDelta(c, delta({ step: 2, attempt: 1, text: "old" }))).toBe(c);
    expect(applyDelta(c, delta({ run: "run_2", op: "start" })).live?.run).toBe("run_2");
  });

  test("show that the model call is tried again", () => {
    const c = applyDelta(empty("c"), delta({ op: "retrying", code: "rate_limited", wait_ms: 900 }));
    expect(c.live?.retrying).toEqual({ code: "rate_limited", wait: 900 });
    expect(applyDelta(c, delta({ op: "start" })).live?.retrying).toBeUndefined();
  });

  test("keep their text when the model call breaks off", () => {
    let c = play(log(["user_message", { text: "q" }], ["run_started", { door: "app" }]));
    c = applyDelta(c, delta({ op: "start" }));
    c = applyEvent(c, {
      ...log(["step_failed", { step: 1, attempt: 1, partial: "Half", code: "model_unavailable", usage, cost }])[0]!,
      seq: 3,
    } as LogEvent);
    expect(c.live).toBeUndefined();
    expect(c.turns[0]!.parts).toMatchObject([{ kind: "text", text: "Half", broken: "model_unavailable" }]);
    expect(answerText(c.turns[0]!)).toBe("");
  });
});

describe("tool calls", () => {
  test("text before a call is a step, text after the last call is the answer", () => {
    const c = play(
      log<Kind>(
        ["user_message", { text: "q" }],
        ["run_started", { door: "app" }],
        says(1, { type: "thinking", thinking: "Hm." }, { type: "text", text: "Let me look." }, call("t1")),
        ["tool_result", { call_id: "t1", name: "run_query", content: "no such table", is_error: true, millis: 3 }],
        says(2, call("t2")),
        [
          "tool_result",
          {
            call_id: "t2",
            name: "run_query",
            content: "42",
            result: { id: "r1", columns: [{ name: "n" }], row_count: 1 },
          },
        ],
        says(3, { type: "text", text: "It is 42." }),
      ),
    );
    const t = c.turns[0]!;
    expect(steps(t).map((p) => (p.kind === "tool" ? `${p.key} ${p.state}` : p.kind))).toEqual([
      "thinking",
      "text",
      "t1 failed",
      "t2 done",
    ]);
    expect(answerText(t)).toBe("It is 42.");
    expect(mainResult(c, t)).toBe("r1");
    expect(c.results.r1).toMatchObject({ turn: 1, version: 1, by: "server" });
  });

  test("wait for a person, then continue", () => {
    const begin = log<Kind>(
      ["user_message", { text: "q" }],
      ["run_started", { door: "app" }],
      says(1, call("t1", "Bash"), call("t2", "run_query")),
      ["approval_asked", { approval_id: "a1", call_id: "t1", outside: "a result of Read" }],
      ["run_parked", { calls: ["t1", "t2"], deadline: "2026-01-01T00:05:00Z" }],
      ["approval_given", { approval_id: "a1", call_id: "t1", approved: true }],
      ["run_resumed", { attempt: 1, reason: "answered" }],
    );
    const parked = play(begin.slice(0, 5));
    expect(parked.turns[0]).toMatchObject({ state: "parked", deadline: "2026-01-01T00:05:00Z" });
    expect(parked.turns[0]!.parts).toMatchObject([
      { key: "t1", state: "waiting", parked: true, approval: { id: "a1", outside: "a result of Read" } },
      { key: "t2", state: "waiting", parked: true },
    ]);
    expect(busy(parked)).toBe(true);
    const resumed = play(begin.slice(5), parked);
    expect(resumed.turns[0]).toMatchObject({ state: "running", deadline: undefined });
    expect(resumed.turns[0]!.parts[0]).toMatchObject({ state: "running", approval: { approved: true } });
  });

  test("fail if they are still open when the run ends", () => {
    const c = play(
      log<Kind>(["user_message", { text: "q" }], ["run_started", { door: "app" }], says(1, call("t1")), [
        "run_stopped",
        { by: "user", millis: 5 },
      ]),
    );
    expect(c.turns[0]).toMatchObject({ state: "stopped", stoppedBy: "user" });
    expect(c.turns[0]!.parts[0]).toMatchObject({ state: "failed" });
  });
});

describe("rewinding", () => {
  const said = log<Kind>(
    ["user_message", { text: "first" }],
    ["run_started", { door: "app" }],
    says(1, { type: "text", text: "One." }),
    ["answered", { text: "One.", footnotes: [] }],
    ["run_finished", { reason: "end_turn", steps: 1, usage, cost, millis: 1 }],
    ["user_message", { text: "second" }],
    ["run_started", { door: "app" }],
    says(1, { type: "text", text: "Two." }),
    ["answered", { text: "Two.", footnotes: [] }],
    ["run_finished", { reason: "end_turn", steps: 1, usage, cost, millis: 1 }],
  );
  const next = (c: Conversation, ...more: LogEvent[]) =>
    play(
      more.map((e, i) => ({ ...e, seq: c.last + 1 + i }) as LogEvent),
      c,
    );

  test("an edited question replaces the old one", () => {
    const c = play(said);
    const first = c.turns[0];
    const edited = next(
      c,
      ...log<Kind>(
        ["rewound", { to_seq: 5 }],
        ["user_message", { text: "second, better" }],
        ["run_started", { door: "app" }],
      ),
    );
    expect(edited.turns.map((t) => t.text)).toEqual(["first", "second, better"]);
    expect(edited.turns[0]).toBe(first);
    expect(edited.turns[1]).toMatchObject({ state: "running", parts: [] });
  });

  test("regenerating keeps the question and removes its answer", () => {
    const c = next(play(said), ...log<Kind>(["rewound", { to_seq: 6 }], ["run_started", { door: "app" }]));
    expect(c.turns.map((t) => t.text)).toEqual(["first", "second"]);
    expect(c.turns[1]!.answer).toBeUndefined();
    expect(c.turns[1]!.state).toBe("running");
  });

  test("regenerating with a repeated user_message shows the question once", () => {
    const c = next(
      play(said),
      ...log<Kind>(["rewound", { to_seq: 6 }], ["user_message", { text: "second" }], ["run_started", { door: "app" }]),
    );
    expect(c.turns.map((t) => t.text)).toEqual(["first", "second"]);
    expect(c.turns[1]!.seq).toBe(12);
  });
});

test("a statement that a person ran is a new version of the result", () => {
  const result = (id: string) => ({ id, source: "shop", sql: "SELECT 1", columns: [{ name: "n" }], row_count: 1 });
  const c = play(
    log<Kind>(
      ["user_message", { text: "q" }],
      says(1, call("t1")),
      ["tool_result", { call_id: "t1", name: "run_query", content: "", result: result("r1") }],
      ["query_run", { by: "ada", replaces: "r1", result: result("r2") }],
      ["query_run", { by: "ada", replaces: "r2", result: result("r3") }],
    ),
  );
  expect(c.results.r3).toMatchObject({ version: 3, by: "user", author: "ada", turn: 1 });
  expect(c.results.r1).toMatchObject({ version: 1, replacedBy: "r3" });
  expect(c.results.r2).toMatchObject({ version: 2, replacedBy: "r3" });
});

test("a cache hit has the age of its rows", () => {
  const c = play(
    log<Kind>(["user_message", { text: "q" }], says(1, call("t1")), [
      "tool_result",
      { call_id: "t1", name: "run_query", content: "", cache_hit: true, ran_at: "1970-01-01T00:00:00Z" },
    ]),
  );
  const part = c.turns[0]!.parts.find((p) => p.kind === "tool");
  expect(part).toMatchObject({ cached: true });
  expect((part as { age: number }).age).toBeGreaterThan(0);
});

test("imported messages are shown as turns", () => {
  const c = play(
    log([
      "imported",
      {
        turns: [
          { role: "user", text: "a" },
          { role: "assistant", text: "b" },
          { role: "user", text: "c" },
        ],
      },
    ]),
  );
  expect(c.turns.map((t) => [t.text, answerText(t)])).toEqual([
    ["a", "b"],
    ["c", ""],
  ]);
});

test("an event of unknown kind only advances the sequence", () => {
  const c = applyEvent(empty("c"), { seq: 1, time: "", kind: "of_a_newer_server", body: {} } as unknown as LogEvent);
  expect(c.last).toBe(1);
});

test("feedback is kept with its answer", () => {
  const c = play([
    ...recorded("count"),
    {
      seq: 100,
      time: "",
      kind: "feedback",
      body: { seq: recorded("count").find((e) => e.kind === "answered")!.seq, good: false, words: "no" },
    },
  ]);
  expect(c.turns[0]!.feedback).toEqual({ good: false, words: "no" });
});
