import { useMemo } from "react";
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
  /** Only what was asked for, without looking at the file: it may be another by now. */
  asked?: boolean;
}

/** What a call would do, exactly: the command, or the difference it would make. */
export function Preview({ call, family, input, conversation, asked }: Props) {
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
    case "file_write":
    case "file_edit":
      return <Change call={call} family={family} input={input} conversation={conversation} asked={asked} />;
    case "file_read":
    case "file_list":
    case "file_search":
      return saidAbove(family, input) ? null : <Input input={input} />;
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

// What calls that only read can say: the texts that subject shows, and how much of the result is wanted.
const texts = { file_read: ["file_path"], file_list: ["pattern", "path"], file_search: ["pattern", "path"] };
const extent = new Set([
  ...["offset", "limit", "head_limit", "glob", "output_mode"],
  ...["-A", "-B", "-C", "-n", "-i", "multiline"],
]);

/** Whether the line above, which has the subject of a call, says all that matters of its input. */
export function saidAbove(family: keyof typeof texts, input: unknown): boolean {
  if (!input || typeof input !== "object") return false;
  return Object.entries(input).every(([key, value]) =>
    texts[family].includes(key) ? typeof value === "string" : extent.has(key) && typeof value !== "object",
  );
}

/** The text of a file; null when there is none. */
async function current(conversation: string, path: string): Promise<string | null> {
  const { files } = await api.workspace(conversation);
  return files.some((f) => f.path === path) ? api.workspaceText(conversation, path) : null;
}

function Change({ call, family, input, conversation, asked }: Props) {
  const path = relative(field(input, "file_path"));
  const {
    data: now,
    loading,
    error,
  } = useLoad(asked ? "" : `preview:${conversation}:${call}`, () => current(conversation, path));
  const made = useMemo(
    () => plan(family, input, asked || loading ? undefined : (now ?? (error ? undefined : null))),
    [family, input, asked, loading, now, error],
  );
  if (!asked && loading) return <p className="text-ink-quiet">Comparing with the file as it is.</p>;
  return (
    <div className="space-y-1.5">
      {made.words && <p className="text-sm text-ink-soft">{made.words}</p>}
      {made.hunks.length > 0 && (
        <Diff
          hunks={made.hunks}
          label={`What would change in ${path}`}
          after={made.after === undefined ? undefined : () => Promise.resolve(made.after!)}
        />
      )}
    </div>
  );
}

/** A piece of a file and what replaces it: where it stands is not known. */
function piece(old: string, next: string): Hunk[] {
  return compare(old, next).map((h) => ({
    ...h,
    lines: h.lines.filter((l) => l.sign !== "\\").map(({ sign, text }) => ({ sign, text })),
  }));
}

/** The difference a call would make to a file as it is now; null: there is none yet,
 *  undefined: it is not known, and only what the call says can be shown. */
export function plan(
  family: Family | undefined,
  input: unknown,
  now: string | null | undefined,
): { hunks: Hunk[]; words: string; after?: string } {
  if (family === "file_write") {
    const content = field(input, "content");
    if (now === undefined) return { hunks: compare("", content), words: "The whole content it would have:" };
    const hunks = compare(now ?? "", content);
    if (!hunks.length)
      return { hunks, words: now === null ? "An empty file would be made." : "The file has this content already." };
    return { hunks, after: content, words: now === null ? `A new file, ${plural(counts(hunks).added, "line")}.` : "" };
  }
  let old = field(input, "old_string"),
    next = field(input, "new_string");
  const all = (input as { replace_all?: unknown } | null)?.replace_all === true;
  if (now === undefined)
    return { hunks: piece(old, next), words: `It replaces this${all ? ", wherever it stands" : ""}:` };
  if (now === null) return { hunks: piece(old, next), words: "There is no such file, so this would fail." };
  if (now.includes("\r\n") && !old.includes("\r"))
    [old, next] = [old.replaceAll("\n", "\r\n"), next.replaceAll("\n", "\r\n")];
  const places = old ? now.split(old).length - 1 : 0;
  if (places === 0)
    return { hunks: piece(old, next), words: "This text is not in the file as it is now, so this would fail." };
  if (places > 1 && !all)
    return { hunks: piece(old, next), words: `This text stands in the file ${places} times, so this would fail.` };
  const after = now.split(old).join(next); // not replaceAll: the replacement is no pattern
  return { hunks: compare(now, after), after, words: places > 1 ? `In ${plural(places, "place")}.` : "" };
}
