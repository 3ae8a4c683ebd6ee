import { memo, useLayoutEffect, useRef, useState, type ReactNode } from "react";
import {
  answerText,
  steps,
  tokensOf,
  waitsForPerson,
  type Conversation,
  type Live,
  type ToolPart,
  type Turn,
} from "../log/conversation";
import { useLog, type Log } from "../log/store";
import { familyOf, field, labelOf, useTools } from "../log/tools";
import { api, errorMessage } from "../api/client";
import { capital, clock, duration, money, plural, resultName, tokensWithWeight, verifiedBy } from "../lib/format";
import type { Verified } from "../log/events";
import { queryLimit, youOrName } from "../lib/me";
import { go, useRoute } from "../lib/router";
import { useAsks } from "../panes/files/consent";
import { useFigures } from "../panes/files/figures";
import { useLocal } from "../panes/files/store";
import { countRender } from "../lib/renders";
import { Button, IconButton } from "../ui/Button";
import { Elapsed, useElapsed } from "../ui/Elapsed";
import { Icon } from "../ui/Icon";
import { inWords } from "../panes/numbers";
import { Sql } from "../panes/Sql";
import { Prose } from "./Answer";
import { AnswerCharts } from "./AnswerChart";
import { Steps } from "./Steps";
import { copied } from "./copied";
import { notesOf, numbered, origin } from "./notes";
import { sendTurn } from "./ask";
import { AskButton, NextQuestions } from "./NextQuestions";
import { FeedbackForm } from "./FeedbackForm";
import { Stale } from "./Stale";

interface Props {
  turn: Turn;
  log: Log;
  last: boolean;
  onNote: (answerOf: Turn, index: number, anchor: HTMLElement) => void;
}

/** A question and its answer. A finished turn renders once. */
export const TurnView = memo(function TurnView({ turn: fromLog, log, last, onNote }: Props) {
  const { turn, coming } = useFigures(fromLog, log);
  countRender(`turn ${turn.seq}`);
  const running = turn.state === "running" || turn.state === "idle";
  return (
    <article className="pt-6" aria-label={`Question: ${turn.text.slice(0, 80)}`} data-turn={turn.seq}>
      {turn.text && <Question turn={turn} log={log} last={last} />}
      <div className="mt-4">
        <Activity turn={turn} log={log} running={running} />
        <Body turn={turn} log={log} running={running} />
        <div className="when-settled" data-settling={coming || undefined}>
          {turn.answer && <Stale turn={turn} log={log} />}
          <Outcome turn={turn} log={log} last={last} />
          {turn.answer?.verified?.map((v) => (
            <VerifiedBadge key={v.query + v.question} verified={v} />
          ))}
          {turn.answer && <Footnotes turn={turn} onNote={onNote} />}
          {!running && <AnswerCharts turn={turn} log={log} />}
          {!running && <Results turn={turn} log={log} />}
          {!running && last && <WhichSource turn={turn} log={log} />}
          {!running && turn.state !== "parked" && <Actions turn={coming ? fromLog : turn} log={log} last={last} />}
          {turn.state === "finished" && last && <NextQuestions turn={turn} log={log} />}
        </div>
      </div>
    </article>
  );
});

/** Returns the growing message to the running turn only, so that other turns do not render again. */
function useLive(log: Log, running: boolean): Live | undefined {
  return useLog(log, (c: Conversation) => (running ? c.live : undefined));
}

function Activity({ turn, log, running }: { turn: Turn; log: Log; running: boolean }) {
  useTools();
  const live = useLive(log, running);
  return <Steps turn={turn} conversation={log.id} now={running ? activity(turn, live) : undefined} />;
}

const retrying: Record<string, string> = {
  rate_limited: "The model is busy; trying again",
  agent_timeout: "The model did not answer in time; trying again",
};

/** Returns the call that is running on the server, if any. */
const openCall = (turn: Turn) => turn.parts.findLast((p): p is ToolPart => p.kind === "tool" && p.state === "running");

/** Describes what a running turn is doing. */
function activity(turn: Turn, live: Live | undefined): ReactNode {
  if (live?.retrying) return retrying[live.retrying.code] ?? "The model is not available; trying again";
  const block = live?.blocks.at(-1);
  if (block?.kind === "tool_use") return labelOf({ name: block.name ?? "" });
  if (block?.kind === "thinking") return "Thinking";
  if (block?.kind === "text") return "Answering";
  const open = openCall(turn);
  if (!open) return "Working on it";
  return (
    <>
      {labelOf(open)}
      <Elapsed lead=" · " since={since(open)} limit={sqlOf(open) ? queryLimit() : undefined} />
    </>
  );
}

/** The answer. Text before a tool call is not part of it: once the call begins, the text becomes a quiet line that
 *  stays until the answer begins. */
function Body({ turn, log, running }: { turn: Turn; log: Log; running: boolean }) {
  const live = useLive(log, running);
  const growing = live && !callsTool(live) ? liveText(live) : "";
  const text = growing || (live && callsTool(live) ? "" : answerText(turn));
  if (!text)
    return running ? (
      <>
        <p className="mt-3 h-6 truncate text-sm text-ink-quiet">{(live && liveText(live)) || remark(turn)}</p>
        <LongQuery turn={turn} />
      </>
    ) : null;
  return (
    <div className="mt-3">
      <Prose text={text} answer={turn.answer} growing={!turn.answer && running} />
    </div>
  );
}

const since = (p: ToolPart) => (p.began === undefined ? undefined : Date.parse(p.began));

const sqlOf = (p: ToolPart) => (familyOf(p) === "query" ? field(p.input, "sql") : "");

/** The statement of a query that takes long. */
function LongQuery({ turn }: { turn: Turn }) {
  const open = openCall(turn);
  const sql = open && sqlOf(open);
  const long = useElapsed(sql ? since(open) : undefined) !== undefined;
  return sql && long ? <Sql sql={sql} className="mt-2 max-h-44" /> : null;
}

const callsTool = (live: Live) => live.blocks.some((b) => b.kind === "tool_use");

const liveText = (live: Live) =>
  live.blocks
    .filter((b) => b.kind === "text")
    .map((b) => b.text)
    .join("\n\n");

/** Returns the last text that the model wrote before the answer. */
function remark(turn: Turn): string {
  const last = turn.parts.findLast((p) => p.kind === "text" && !p.broken);
  return last?.kind === "text" ? last.text.replace(/[*_`#]/g, "") : "";
}

function Question({ turn, log, last }: { turn: Turn; log: Log; last: boolean }) {
  const [editing, setEditing] = useState(false);
  if (editing) return <EditQuestion turn={turn} log={log} done={() => setEditing(false)} />;
  const editable = Number.isInteger(turn.seq) && turn.seq > 0 && turn.state !== "running" && turn.state !== "idle";
  return (
    <div className="group flex items-start justify-end gap-1">
      {editable && (
        <IconButton
          icon="edit"
          small
          label={last ? "Edit this question" : "Edit this question and continue from here"}
          className="mt-1 opacity-0 print:hidden group-focus-within:opacity-100 group-hover:opacity-100 max-lg:opacity-100"
          onClick={() => setEditing(true)}
        />
      )}
      <div className="max-w-[85%] rounded-lg rounded-br-sm bg-accent-soft px-4 py-2">
        <QuestionText text={turn.text} />
      </div>
    </div>
  );
}

/** The text of a question. A long one is collapsed to its first lines. */
function QuestionText({ text }: { text: string }) {
  const [all, setAll] = useState(false);
  const [cut, setCut] = useState(false);
  const words = useRef<HTMLHeadingElement>(null);
  useLayoutEffect(() => {
    const el = words.current!;
    const measure = () => setCut(el.scrollHeight > el.clientHeight + 1);
    measure(); // before the first paint, so that nothing moves
    const resize = new ResizeObserver(measure);
    resize.observe(el);
    return () => resize.disconnect();
  }, [text]);
  return (
    <>
      <h2
        ref={words}
        className={`wrap-anywhere whitespace-pre-wrap ${all ? "" : "line-clamp-8 print:line-clamp-none"}`}
      >
        <span className="sr-only">You asked: </span>
        <span dir="auto" className="block">
          {text}
        </span>
      </h2>
      {(cut || all) && (
        <button
          type="button"
          aria-expanded={all}
          onClick={() => setAll(!all)}
          className="mt-1 rounded-sm text-xs text-ink-quiet underline underline-offset-2 hover:text-ink print:hidden"
        >
          {all ? "Show less" : "Show the whole question"}
        </button>
      )}
    </>
  );
}

function EditQuestion({ turn, log, done }: { turn: Turn; log: Log; done: () => void }) {
  const [text, setText] = useState(turn.text);
  const [error, setError] = useState("");
  const send = async () => {
    if (!text.trim()) return;
    try {
      await sendTurn(log, { edit: { seq: turn.seq, text: text.trim() } });
      done();
    } catch (err) {
      setError(errorMessage(err));
    }
  };
  return (
    <form
      className="rounded-lg border bg-surface p-3"
      onSubmit={(e) => {
        e.preventDefault();
        void send();
      }}
    >
      <textarea
        autoFocus
        aria-label="Edit the question"
        dir="auto"
        value={text}
        onChange={(e) => setText(e.target.value)}
        onKeyDown={(e) => {
          if (e.key === "Escape") done();
          if (e.key === "Enter" && !e.shiftKey && !e.nativeEvent.isComposing) {
            e.preventDefault();
            void send();
          }
        }}
        className="grow-with-text w-full resize-none rounded-sm bg-transparent"
      />
      {error && (
        <p role="alert" className="text-sm text-bad">
          {error}
        </p>
      )}
      <div className="mt-2 flex items-center justify-end gap-2">
        <span className="mr-auto text-xs text-ink-quiet">Asking again replaces everything after this question.</span>
        <Button onClick={done}>Cancel</Button>
        <Button look="primary" type="submit" disabled={!text.trim()}>
          Ask again
        </Button>
      </div>
    </form>
  );
}

/** Says how a turn ended, unless it simply finished. */
function Outcome({ turn, log, last }: { turn: Turn; log: Log; last: boolean }) {
  switch (turn.state) {
    case "failed":
      return (
        <div
          role="alert"
          className="mt-3 flex flex-wrap items-center gap-3 rounded-md bg-bad-soft px-4 py-3 text-sm text-bad"
        >
          <Icon name="alert" small />
          <span className="min-w-48 flex-1">
            {turn.failure?.message ?? "The answer could not be finished."}
            {unchecked(turn)}
          </span>
          {last && <Regenerate log={log} label="Try again" />}
        </div>
      );
    case "stopped":
      return (
        <div className="mt-3 flex flex-wrap items-center gap-3 text-sm text-ink-quiet">
          <Icon name="stop" small />
          <span>
            {stopped[turn.stoppedBy ?? ""] ?? "Stopped."}
            {unchecked(turn)}
          </span>
          {last && <Regenerate log={log} label="Ask again" />}
        </div>
      );
    case "parked":
      return <Waiting turn={turn} conversation={log.id} />;
    case "finished":
      return limited[turn.reason ?? ""] ? <p className="mt-3 text-sm text-warn">{limited[turn.reason ?? ""]}</p> : null;
    default:
      return null;
  }
}

/** A note for an answer that broke off before its footnotes were found. */
const unchecked = (t: Turn) => (!t.answer && answerText(t) ? " Its numbers were not checked." : "");

const stopped: Record<string, string> = {
  user: "You stopped this answer.",
  disconnect: "Stopped because the client disconnected.",
  shutdown: "Stopped because the server shut down.",
  interrupted: "Stopped because the server was interrupted.",
};

const limited: Record<string, string> = {
  max_turns: "This answer may be incomplete: it reached the limit on steps.",
  budget: "This answer may be incomplete: it used up the budget for one question.",
  max_tokens: "This answer was cut off at the maximum length.",
};

function Waiting({ turn, conversation }: { turn: Turn; conversation: string }) {
  const asks = useAsks(conversation);
  const { files } = useLocal();
  const until = turn.deadline ? ` until ${clock(turn.deadline)}` : "";
  let words = files.length ? "Running in this browser." : "Waiting for the browser that has the file open.";
  if (turn.parts.some(waitsForPerson)) words = `Waiting for your answer${until}. A new question skips this.`;
  else if (asks.length) words = `Waiting${until} for you to choose which values to send. A new question skips this.`;
  return <p className="mt-3 text-sm text-ink-quiet">{words}</p>;
}

function Regenerate({ log, label }: { log: Log; label: string }) {
  const [error, setError] = useState("");
  return (
    <>
      <Button
        icon="retry"
        onClick={() => sendTurn(log, { regenerate: true }).catch((err) => setError(errorMessage(err)))}
      >
        {label}
      </Button>
      {error && (
        <span role="alert" className="w-full text-bad">
          {error}
        </span>
      )}
    </>
  );
}

/** Says that a person has verified the query behind an answer, and for which question. */
function VerifiedBadge({ verified }: { verified: Verified }) {
  return (
    <p className="mt-3 flex items-start gap-1.5 text-sm text-good" dir="auto">
      <Icon name="check" small className="mt-0.5" />
      <span className="min-w-0 wrap-anywhere">
        “{verified.question}”: {verifiedBy(verified)}
      </span>
    </p>
  );
}

/** The footnotes below an answer: their number, and on request their list. Each also opens beside its own number. */
function Footnotes({ turn, onNote }: Pick<Props, "turn" | "onNote">) {
  const [all, setAll] = useState(false);
  const answer = turn.answer!;
  const notes = notesOf(answer);
  const list = numbered(notes);
  const severalResults = new Set(list.map((n) => n.cite!.result)).size > 1;
  const open = notes.filter((n) => n.open).length;
  if (!notes.length) return null;
  return (
    <div role="group" aria-label="Footnotes" className="mt-3 text-sm text-ink-quiet">
      <p className="flex flex-wrap items-center gap-x-3">
        {list.length > 0 && (
          <button
            type="button"
            aria-expanded={all}
            onClick={() => setAll(!all)}
            className="-ml-1 inline-flex h-7 items-center gap-1 rounded-md px-1 hover:bg-hover hover:text-ink"
          >
            {plural(list.length, "footnote")}
            {open === 0 && <Icon name="check" small className="text-good" />}
          </button>
        )}
        {open > 0 && <span className="text-warn">{plural(open, "number has", "numbers have")} no footnote</span>}
      </p>
      <div className={all ? "" : "hidden print:block"}>
        <ol className="tabular grid gap-x-4 sm:grid-cols-2">
          {list.map((n) => (
            <li key={n.number}>
              <button
                type="button"
                onClick={(e) => onNote(turn, notes.indexOf(n), e.currentTarget)}
                className="-ml-1 flex w-full gap-2 rounded-sm px-1 py-0.5 text-left hover:bg-hover hover:text-ink"
              >
                <span className="w-4 shrink-0 text-right text-xs font-semibold text-accent">{n.number}</span>
                <span className="shrink-0 font-medium text-ink-soft">{inWords(n.cite!.text)}</span>
                <span className="min-w-0 truncate">{origin(n.cite!, severalResults)}</span>
              </button>
            </li>
          ))}
        </ol>
      </div>
    </div>
  );
}

const chipPart =
  "inline-flex items-center gap-1.5 -outline-offset-2 text-ink-soft hover:bg-hover hover:text-ink aria-pressed:text-accent";

/** Buttons that open the results of a turn and their SQL in the right pane. */
function Results({ turn, log }: Pick<Props, "turn" | "log">) {
  const results = useLog(log, (c) => c.results);
  const at = useRoute();
  const ids = turn.parts.flatMap((p) => (p.kind === "tool" && p.result ? [p.result.id] : []));
  const edited = ids.map((id) => results[results[id]?.replacedBy ?? ""]).filter((r) => r !== undefined);
  if (!ids.length) return null;
  const from = [
    ...new Set(ids.flatMap((id) => (results[id]?.source === "client" ? "this browser" : (results[id]?.source ?? [])))),
  ];
  return (
    <div className="mt-3 flex flex-wrap items-center gap-2">
      {[...ids.map((id) => results[id]).filter((r) => r !== undefined), ...edited].map((r) => (
        <span
          key={r.id}
          className={`inline-flex h-8 max-w-full items-stretch overflow-hidden rounded-full border bg-surface text-sm ${at.result === r.id ? "border-accent" : ""}`}
        >
          <button
            type="button"
            aria-pressed={at.result === r.id}
            onClick={() =>
              go({
                conversation: log.id,
                result: r.id,
                view: at.view === "sql" || at.view === "table" ? at.view : undefined,
              })
            }
            className={`${chipPart} min-w-0 pl-3 pr-2`}
          >
            <Icon name={r.chart ? "chart" : "table"} small />
            <span className="truncate">{r.chart?.title || capital(resultName(r.id))}</span>
            <span className="tabular shrink-0 text-xs text-ink-quiet">
              {r.version > 1 ? `version ${r.version}, by ${youOrName(r.author)} · ` : ""}
              {plural(r.row_count, "row")}
              {r.truncated && r.source !== "client" ? "+" : ""}
            </span>
          </button>
          {r.sql && (
            <button
              type="button"
              aria-label={`SQL of ${r.chart?.title || resultName(r.id)}`}
              aria-pressed={at.result === r.id && at.view === "sql"}
              onClick={() => go({ conversation: log.id, result: r.id, view: "sql" })}
              className={`${chipPart} shrink-0 border-l pl-2 pr-3`}
            >
              <Icon name="code" small />
              SQL
            </button>
          )}
        </span>
      ))}
      {from.length > 0 && <span className="min-w-0 truncate text-xs text-ink-quiet">from {from.join(", ")}</span>}
    </div>
  );
}

/** Returns the sources among which an answer without results asks the user to choose. */
function offeredSources(turn: Turn, sources: readonly string[]): readonly string[] {
  if (turn.parts.some((p) => p.kind === "tool")) return [];
  const lines = answerText(turn)
    .split("\n")
    .map((l) => l.replaceAll("`", ""));
  return sources.filter((s) => lines.some((l) => l.startsWith(`- ${s}: `)));
}

/** Buttons to choose a source, below an answer that asks for one. */
function WhichSource({ turn, log }: Pick<Props, "turn" | "log">) {
  const sources = useLog(log, (c) => c.sources);
  const offered = turn.answer ? offeredSources(turn, sources) : [];
  if (!offered.length) return null;
  return (
    <div role="group" aria-label="Ask which source" className="mt-3 flex flex-wrap items-center gap-2 print:hidden">
      {offered.map((name) => (
        <AskButton key={name} icon="database" log={log} text={name} />
      ))}
    </div>
  );
}

/** The buttons below a turn that has ended. */
function Actions({ turn, log, last }: Pick<Props, "turn" | "log" | "last">) {
  const [done, setDone] = useState(false);
  const [error, setError] = useState("");
  const [rating, setRating] = useState<{ anchor: HTMLElement; good: boolean } | null>(null);
  const text = answerText(turn);
  if (!text && !steps(turn).length) return null;
  const rate = (good: boolean, anchor: HTMLElement) => {
    if (!turn.answer) return;
    api.feedback(log.id, turn.answer.seq, good).catch((err) => setError(errorMessage(err)));
    setRating({ anchor, good });
  };
  return (
    <div className="mt-2 -ml-2 flex flex-wrap items-center gap-0.5 text-ink-quiet print:[&>button]:hidden">
      {text && (
        <IconButton
          icon={done ? "check" : "copy"}
          small
          label={done ? "Copied" : "Copy the answer"}
          onClick={() => {
            navigator.clipboard.writeText(copied(turn, log)).then(
              () => {
                setDone(true);
                setTimeout(() => setDone(false), 1500);
              },
              () => setError("The browser did not allow copying."),
            );
          }}
        />
      )}
      {turn.answer && (
        <>
          <IconButton
            icon="up"
            small
            label="Good answer"
            aria-pressed={turn.feedback?.good === true}
            className="aria-pressed:text-good"
            onClick={(e) => rate(true, e.currentTarget)}
          />
          <IconButton
            icon="up"
            small
            label="Bad answer"
            aria-pressed={turn.feedback?.good === false}
            className="aria-pressed:text-bad [&>svg]:rotate-180"
            onClick={(e) => rate(false, e.currentTarget)}
          />
        </>
      )}
      {last && Number.isInteger(turn.seq) && (
        <IconButton
          icon="retry"
          small
          label="Answer again"
          onClick={() => sendTurn(log, { regenerate: true }).catch((err) => setError(errorMessage(err)))}
        />
      )}
      <Price turn={turn} />
      {error && (
        <span role="alert" className="text-sm text-bad">
          {error}
        </span>
      )}
      {rating && turn.answer && (
        <FeedbackForm
          anchor={rating.anchor}
          good={rating.good}
          conversation={log.id}
          seq={turn.answer.seq}
          onClose={() => setRating(null)}
        />
      )}
    </div>
  );
}

/** The time, tier, duration, tokens and cost of an answer. */
function Price({ turn }: { turn: Turn }): ReactNode {
  const tokens = tokensOf(turn);
  const words = [clock(turn.time)];
  if (turn.tier) words.push(capital(turn.tier));
  if (turn.millis !== undefined) words.push(duration(turn.millis));
  if (tokens) words.push(tokensWithWeight(tokens, tokens * (turn.weight ?? 1)));
  if (turn.cost && (turn.cost.micro_usd || tokens))
    words.push(`${turn.cost.unpriced ? "at most " : ""}${money(turn.cost.micro_usd)}`);
  else if (turn.model === "offline-planner") words.push("no cost");
  return <span className="tabular ml-2 text-xs">{words.join(" · ")}</span>;
}
