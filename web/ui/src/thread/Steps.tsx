import { memo, useContext, useEffect, useState, type ReactNode } from "react";
import type { Part, ToolPart, Turn } from "../log/conversation";
import { steps, waitsForPerson } from "../log/conversation";
import { familyOf, useTools, type Family } from "../log/tools";
import { duration, plural } from "../lib/format";
import { Icon } from "../ui/Icon";
import { ToolCard } from "./ToolCard";
import { Prose } from "./Answer";
import { QuestionCard } from "./QuestionCard";
import { CardContext } from "./context";
import { useAnyRevealed } from "./reveal";

/** Calls that do not count as steps, because the turn shows their output. */
const notSteps = new Set<Family | undefined>(["chart", "answer"]);

/** Summarises the steps of a turn in one line: "3 queries · 0.8 s". */
export function summary(t: Turn, parts: readonly Part[]): string {
  const tools = parts.filter((p): p is ToolPart => p.kind === "tool");
  const ran = tools.filter((p) => familyOf(p) === "query").length;
  const other = tools.filter((p) => familyOf(p) !== "query" && !notSteps.has(familyOf(p))).length;
  const failed = tools.filter((p) => p.state === "failed").length;
  const words: string[] = [];
  if (ran) words.push(plural(ran, "query", "queries"));
  if (other) words.push(plural(other, ran ? "other step" : "step"));
  if (!words.length && !parts.length) words.push("No steps");
  else if (!words.length) words.push(parts.some((p) => p.kind === "thinking") ? "Thought about it" : "Steps");
  if (failed && t.state !== "failed") words.push(plural(failed, "failed", "failed"));
  if (t.millis !== undefined) words.push(duration(t.millis));
  return words.join(" · ");
}

interface Props {
  turn: Turn;
  conversation: string;
  /** What the turn is doing, while it runs. */
  now?: ReactNode;
}

export const Steps = memo(function Steps({ turn, conversation, now }: Props) {
  useTools();
  const parts = steps(turn);
  const waiting = parts.filter(waitsForPerson);
  const card = useContext(CardContext);
  const [open, setOpen] = useState(false);
  const revealed = useAnyRevealed(parts);
  useEffect(() => {
    if (revealed) setOpen(true);
  }, [revealed]);
  const running = turn.state === "running" || turn.state === "idle";
  // As high as the line of the running turn, so that the answer does not move when it ends.
  if (!parts.length && !now)
    return <p className="tabular flex h-7 items-center text-sm text-ink-quiet">{summary(turn, parts)}</p>;
  return (
    <div>
      <button
        type="button"
        aria-expanded={open}
        disabled={!parts.length}
        onClick={() => setOpen(!open)}
        className="-ml-1 flex h-7 max-w-full items-center gap-1.5 rounded-md pr-2 pl-1 text-sm text-ink-quiet enabled:hover:bg-hover enabled:hover:text-ink"
      >
        {running ? (
          <Icon name="spinner" small className="turning" />
        ) : (
          <Icon name="chevron" small className={`transition-transform ${open ? "rotate-90" : ""}`} />
        )}
        <span className="tabular truncate">{running && now ? now : summary(turn, parts)}</span>
      </button>
      {open && (
        <ol className="mt-2 space-y-2 border-l pl-4" aria-label="Steps">
          {parts.map((p) => (
            <li key={p.key}>
              <Step part={p} conversation={conversation} />
            </li>
          ))}
        </ol>
      )}
      {card && parts.map((p) => p.kind === "tool" && card(p))}
      {waiting.map((p) =>
        familyOf(p) === "question" ? (
          <QuestionCard key={p.key} part={p} conversation={conversation} />
        ) : open ? null : (
          <div key={p.key} className="mt-2">
            <ToolCard part={p} conversation={conversation} />
          </div>
        ),
      )}
    </div>
  );
});

function Step({ part, conversation }: { part: Part; conversation: string }) {
  switch (part.kind) {
    case "tool":
      return <ToolCard part={part} conversation={conversation} />;
    case "thinking":
      return <Thinking text={part.text} />;
    case "text":
      return (
        <div className="text-sm text-ink-soft">
          <Prose text={part.text} />
          {part.broken && (
            <p className="mt-1 text-ink-quiet">The connection to the model dropped here; the step was retried.</p>
          )}
        </div>
      );
  }
}

export function Thinking({ text }: { text: string }) {
  const [open, setOpen] = useState(false);
  const first = text.trim().split("\n", 1)[0] ?? "";
  return (
    <div className="text-sm text-ink-quiet">
      <button
        type="button"
        aria-expanded={open}
        onClick={() => setOpen(!open)}
        className="flex w-full items-center gap-1.5 rounded-md text-left hover:text-ink"
      >
        <Icon name="thought" small />
        <span className="font-medium">Thinking</span>
        {!open && <span className="min-w-0 flex-1 truncate">{first}</span>}
      </button>
      {open && <p className="mt-1 whitespace-pre-wrap">{text.trim()}</p>}
    </div>
  );
}
