// Questions to ask next with one click: those that an answer lists itself, or suggestions below it.
import { use, useState, type ReactNode } from "react";
import { api, errorMessage } from "../api/client";
import { useLoad } from "../api/load";
import type { Turn } from "../log/conversation";
import { useLog, type Log } from "../log/store";
import type { IconName } from "../ui/Icon";
import { Button } from "../ui/Button";
import { askNext } from "./ask";
import { LogContext, NextContext } from "./context";
import { offeredQuestions, unasked } from "./offers";

/** A button that asks a question. */
export function AskButton({ log, text, icon }: { log: Log; text: string; icon?: IconName }): ReactNode {
  const [sent, setSent] = useState(false);
  const [error, setError] = useState("");
  const { ask: send = (t: string) => askNext(log, t) } = use(NextContext);
  const ask = () => {
    setSent(true);
    setError("");
    send(text)
      .catch((err: unknown) => setError(errorMessage(err)))
      .finally(() => setSent(false));
  };
  return (
    <>
      <Button
        icon={icon}
        disabled={sent}
        onClick={ask}
        className="!h-auto min-h-8 max-w-full rounded-full! py-1 text-left !font-normal whitespace-normal!"
      >
        {text}
      </Button>
      {error && (
        <span role="alert" className="text-sm text-bad">
          {error}
        </span>
      )}
    </>
  );
}

/** A question in the text of an answer, as a button. */
export function Offer({ text }: { text: string }): ReactNode {
  const log = use(LogContext);
  return log ? <AskButton log={log} text={text} /> : text;
}

const most = 3;
const maxSources = 3;

/** Loads suggested questions about sources, taking one of each in turn. */
async function aboutSources(sources: readonly string[]): Promise<string[]> {
  const each = await Promise.all(sources.slice(0, maxSources).map((s) => api.suggestions(s)));
  const longest = Math.max(0, ...each.map((e) => e.suggestions.length));
  return Array.from({ length: longest }, (_, i) => each.flatMap((e) => e.suggestions[i]?.text ?? [])).flat();
}

/** Questions that this conversation has not asked, below an answer that offers none. Those that share words with its
 *  question come first. */
export function NextQuestions({ turn, log }: { turn: Turn; log: Log }): ReactNode {
  const next = use(NextContext);
  const sources = useLog(log, (c) => c.sources);
  const turns = useLog(log, (c) => c.turns);
  const declined = turn.parts.every((p) => p.kind !== "tool");
  const wanted = turn.answer && !offeredQuestions(turn.answer.text).length && (declined || !next.afterDecline);
  const key = wanted && !next.questions ? sources.join("\n") : "";
  const { data } = useLoad(key && `suggestions about:${key}`, () => aboutSources(sources));
  const offered = wanted ? unasked(next.questions ?? data ?? [], turns, turn.text).slice(0, most) : [];
  if (!offered.length) return null;
  return (
    <div role="group" aria-label="Next questions" className="mt-3 flex flex-wrap items-center gap-2 print:hidden">
      {offered.map((text) => (
        <AskButton key={text} log={log} text={text} />
      ))}
    </div>
  );
}
