import { useEffect, useMemo } from "react";
import { api } from "../../api/client";
import { useLoad } from "../../api/load";
import { field, type Family } from "../../log/tools";
import { plural } from "../../lib/format";
import { relative } from "./detail";
import { compare, counts, type Hunk } from "./diff";
import { Diff } from "./Diff";
import "./coder.css";

interface Props {
  call: string; // its id
  family?: Family;
  input: unknown;
  conversation: string;
  /** Shows only the input, without comparing it with the current file, which may have changed since. */
  asked?: boolean;
  /** Called once everything is shown, so that nothing below moves any more. */
  onShown?: () => void;
}

/** Shows what a call would do: the command, or the change to the file. */
export function Preview(props: Props) {
  if (props.family === "file_write" || props.family === "file_edit") return <Change {...props} />;
  return <Call {...props} />;
}

function Call({ family, input, onShown }: Props) {
  useEffect(() => onShown?.(), [onShown]);
  switch (family) {
    case "command":
      return (
        <div className="space-y-2">
          {field(input, "description") && <p className="text-ink-soft">{field(input, "description")}</p>}
          <div className="terminal">
            <pre className="command" tabIndex={0} role="region" aria-label="Command">
              {field(input, "command")}
            </pre>
          </div>
        </div>
      );
    case "file_read":
    case "file_list":
    case "file_search":
      return shownInSubject(family, input) ? null : <Input input={input} />;
    default:
      return <Input input={input} />;
  }
}

function Input({ input }: { input: unknown }) {
  return (
    <pre
      tabIndex={0}
      role="region"
      aria-label="Input"
      className="max-h-64 overflow-auto rounded-md bg-sunken p-2 font-mono text-xs whitespace-pre-wrap"
    >
      {JSON.stringify(input, null, 2)}
    </pre>
  );
}

// The inputs of calls that only read: those that `subject` shows, and options for the extent of the result.
const subjectFields = { file_read: ["file_path"], file_list: ["pattern", "path"], file_search: ["pattern", "path"] };
const extentFields = new Set([
  ...["offset", "limit", "head_limit", "glob", "output_mode"],
  ...["-A", "-B", "-C", "-n", "-i", "multiline"],
]);

/** Reports whether the subject line above a call already shows everything important about its input. */
export function shownInSubject(family: keyof typeof subjectFields, input: unknown): boolean {
  if (!input || typeof input !== "object") return false;
  return Object.entries(input).every(([key, value]) =>
    subjectFields[family].includes(key)
      ? typeof value === "string"
      : extentFields.has(key) && typeof value !== "object",
  );
}

/** Returns the current text of a file, or null if it does not exist. */
async function currentText(conversation: string, path: string): Promise<string | null> {
  const { files } = await api.workspace(conversation);
  return files.some((f) => f.path === path) ? api.workspaceText(conversation, path) : null;
}

function Change({ call, family, input, conversation, asked, onShown }: Props) {
  const path = relative(field(input, "file_path"));
  const {
    data: now,
    loading,
    error,
  } = useLoad(asked ? "" : `preview:${conversation}:${call}`, () => currentText(conversation, path));
  const comparing = !asked && loading && error === undefined; // a retry keeps what is shown
  const planned = useMemo(
    () => plan(family, input, asked || comparing ? undefined : (now ?? (error ? undefined : null))),
    [family, input, asked, comparing, now, error],
  );
  useEffect(() => {
    if (!comparing) onShown?.();
  }, [comparing, onShown]);
  if (comparing)
    return (
      <p data-settling="" className="text-ink-quiet">
        Comparing with the current file.
      </p>
    );
  return (
    <div className="space-y-1.5">
      {planned.words && <p className="text-sm text-ink-soft">{planned.words}</p>}
      {planned.hunks.length > 0 && (
        <Diff
          hunks={planned.hunks}
          label={`What would change in ${path}`}
          after={planned.after === undefined ? undefined : () => Promise.resolve(planned.after!)}
        />
      )}
    </div>
  );
}

/** Compares a part of a file with its replacement. Line numbers are left out, because the position is unknown. */
function compareParts(old: string, next: string): Hunk[] {
  return compare(old, next).map((h) => ({
    ...h,
    lines: h.lines.filter((l) => l.sign !== "\\").map(({ sign, text }) => ({ sign, text })),
  }));
}

/** Returns the change that a call would make to the current text of a file. `now` is null if the file does not exist,
 *  and undefined if the text is unknown; then only the input is shown. */
export function plan(
  family: Family | undefined,
  input: unknown,
  now: string | null | undefined,
): { hunks: Hunk[]; words: string; after?: string } {
  if (family === "file_write") {
    const content = field(input, "content");
    if (now === undefined) return { hunks: compare("", content), words: "The new content:" };
    const hunks = compare(now ?? "", content);
    if (!hunks.length)
      return { hunks, words: now === null ? "This creates an empty file." : "The file already has this content." };
    return { hunks, after: content, words: now === null ? `A new file, ${plural(counts(hunks).added, "line")}.` : "" };
  }
  let old = field(input, "old_string"),
    next = field(input, "new_string");
  const all = (input as { replace_all?: unknown } | null)?.replace_all === true;
  if (now === undefined)
    return { hunks: compareParts(old, next), words: `Replaces this text${all ? " everywhere" : ""}:` };
  if (now === null) return { hunks: compareParts(old, next), words: "The file does not exist, so this would fail." };
  if (now.includes("\r\n") && !old.includes("\r"))
    [old, next] = [old.replaceAll("\n", "\r\n"), next.replaceAll("\n", "\r\n")];
  const places = old ? now.split(old).length - 1 : 0;
  if (places === 0)
    return { hunks: compareParts(old, next), words: "The text is not in the current file, so this would fail." };
  if (places > 1 && !all)
    return {
      hunks: compareParts(old, next),
      words: `The text appears in the file ${places} times, so this would fail.`,
    };
  const after = now.split(old).join(next); // replaceAll would interpret $ in the replacement
  return { hunks: compare(now, after), after, words: places > 1 ? `In ${plural(places, "place")}.` : "" };
}
