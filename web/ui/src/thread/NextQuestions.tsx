// Questions to ask next with one click: those that an answer lists itself, or suggestions below it.
import { use, useState, type ReactNode } from "react";
import { api, errorMessage } from "../api/client";
import { useLoad } from "../api/load";
import type { Turn } from "../log/conversation";
import { useLog, type Log } from "../log/store";
import type { IconName } from "../ui/Icon";
import { Button } from "../ui/Button";
import { askNext } from "./ask";
import { LogContext } from "./context";
import { offeredQuestions } from "./offers";

/** A button that asks a question. */
export function AskButton({ log, text, icon }: { log: Log; text: string; icon?: IconName }): ReactNode {
  const [sent, setSent] = useState(false);
  const [error, setError] = useState("");
  const ask = () => {
    setSent(true);
    setError("");
    askNext(log, text)
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

/** Suggested questions about the same data that this conversation has not asked, below an answer that offers none. */
export function NextQuestions({ turn, log }: { turn: Turn; log: Log }): ReactNode {
  const sources = useLog(log, (c) => c.sources);
  const turns = useLog(log, (c) => c.turns);
  const onChart = useLog(log, (c) => c.where !== undefined); // which has its own suggestions
  const wanted = sources.length > 0 && !onChart && turn.answer && !offeredQuestions(turn.answer.text).length;
  const source = sources.length === 1 ? sources[0]! : "";
  const { data } = useLoad(wanted ? `suggestions:${source}` : "", () => api.suggestions(source));
  const asked = new Set(turns.map((t) => t.text.toLowerCase()));
  const next = wanted ? (data?.suggestions ?? []).filter((s) => !asked.has(s.text.toLowerCase())) : [];
  if (!next.length) return null;
  return (
    <div role="group" aria-label="Next questions" className="mt-3 flex flex-wrap items-center gap-2 print:hidden">
      {next.slice(0, most).map((s) => (
        <AskButton key={s.text} log={log} text={s.text} />
      ))}
    </div>
  );
}
