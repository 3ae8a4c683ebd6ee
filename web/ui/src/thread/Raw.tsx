import type { ToolPart } from "../log/conversation";
import { field } from "../log/tools";
import { plural } from "../lib/format";

/** The input and output of a call. If the input has a statement, only the statement is shown. */
export function Raw({ part }: { part: ToolPart }) {
  const sql = field(part.input, "sql");
  return (
    <>
      {sql ? <Code text={sql} label="SQL" /> : <Code text={pretty(part.input)} label="Input" />}
      {part.content !== undefined && (
        <Code
          text={clip(part.content)}
          label={part.state === "failed" ? "Error" : "What the model read"}
          bad={part.state === "failed"}
        />
      )}
      {part.state === "running" && <p className="text-ink-quiet">Running.</p>}
    </>
  );
}

function Code({ text, label, bad }: { text: string; label: string; bad?: boolean }) {
  return (
    <div>
      <div className={`text-xs ${bad ? "text-bad" : "text-ink-quiet"}`}>{label}</div>
      <pre
        tabIndex={0}
        className={
          "max-h-64 overflow-auto rounded-sm p-2 font-mono text-xs wrap-anywhere whitespace-pre-wrap " +
          (bad ? "bg-bad-soft text-bad" : "bg-sunken")
        }
      >
        {text}
      </pre>
    </div>
  );
}

function pretty(input: unknown): string {
  if (input === null || typeof input !== "object") return String(input ?? "");
  const { thought: _, ...rest } = input as Record<string, unknown>;
  return JSON.stringify(rest, null, 2);
}

const maxLength = 20_000;
const clip = (s: string) =>
  s.length > maxLength ? `${s.slice(0, maxLength)}\n… and ${plural(s.length - maxLength, "more character")}` : s;
