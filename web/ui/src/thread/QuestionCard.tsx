import { useState } from "react";
import { api, errorMessage } from "../api/client";
import type { ToolPart } from "../log/conversation";
import { field } from "../log/tools";
import { Button } from "../ui/Button";

/** A question from the model to the user, with suggested answers. */
export function QuestionCard({ part, conversation }: { part: ToolPart; conversation: string }) {
  const [text, setText] = useState("");
  const [sent, setSent] = useState(false);
  const [error, setError] = useState("");
  const options =
    ((part.input as { options?: unknown } | null)?.options as unknown[] | undefined)?.filter(
      (o): o is string => typeof o === "string",
    ) ?? [];
  const answer = async (content: string) => {
    setSent(true);
    setError("");
    try {
      await api.turn(conversation, { answers: [{ call_id: part.key, content }] });
    } catch (err) {
      setError(errorMessage(err));
      setSent(false);
    }
  };
  return (
    <form
      aria-label="A question to you"
      className="mt-3 rounded-lg border bg-surface p-4"
      onSubmit={(e) => {
        e.preventDefault();
        if (text.trim()) void answer(text.trim());
      }}
    >
      <p className="font-medium">{field(part.input, "question")}</p>
      {options.length > 0 && (
        <div className="mt-3 flex flex-wrap gap-2">
          {options.map((o) => (
            <Button key={o} disabled={sent} onClick={() => void answer(o)}>
              {o}
            </Button>
          ))}
        </div>
      )}
      <div className="mt-3 flex gap-2">
        <input
          aria-label="Your answer"
          placeholder={options.length ? "Or in your own words" : "Your answer"}
          maxLength={2000}
          value={text}
          onChange={(e) => setText(e.target.value)}
          className="h-9 min-w-0 flex-1 rounded-md border bg-page px-3 text-sm"
        />
        <Button look="primary" type="submit" disabled={sent || !text.trim()}>
          Answer
        </Button>
      </div>
      {error && (
        <p role="alert" className="mt-2 text-sm text-bad">
          {error}
        </p>
      )}
    </form>
  );
}
