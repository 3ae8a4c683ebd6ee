import { useMemo } from "react";
import { api } from "../../api/client";
import type { ToolPart } from "../../log/conversation";
import { familyOf, useTools } from "../../log/tools";
import { bytes, duration, plural } from "../../lib/format";
import { go } from "../../lib/router";
import { Icon } from "../../ui/Icon";
import { Raw } from "../../thread/Raw";
import type { CallCardProps } from "../slots";
import { detailOf, endings, hunksOf, type CommandDetail, type FileDetail, type ListDetail } from "./detail";
import { Diff } from "./Diff";
import { Preview } from "./Preview";
import "./coder.css";

/** The content of the card of a workspace tool: the file, diff, command or matches. */
export default function CallCard({ part, conversation }: CallCardProps) {
  useTools();
  const d = detailOf(part);
  const family = familyOf(part);
  switch (d?.kind) {
    case "file":
      return <Changed file={d} conversation={conversation} />;
    case "command":
      return <Command command={d} conversation={conversation} />;
    case "files":
      return <Found list={d} conversation={conversation} />;
    case "read":
      return <ReadFile file={d} content={part.content ?? ""} conversation={conversation} />;
  }
  if (part.state === "failed") {
    return (
      <>
        <Failed part={part} />
        <Preview call={part.key} family={family} input={part.input} conversation={conversation} asked />
      </>
    );
  }
  if (family === "file_search" && part.content !== undefined)
    return <Matches content={part.content} conversation={conversation} />;
  if (part.content === undefined)
    return <Preview call={part.key} family={family} input={part.input} conversation={conversation} asked />;
  return <Raw part={part} />;
}

function Failed({ part }: { part: ToolPart }) {
  if (part.approval?.approved === false) {
    return (
      <p className="text-ink-soft">
        Declined{part.approval.reason ? <>: “{part.approval.reason}”</> : "."} Nothing was changed.
      </p>
    );
  }
  return part.content ? (
    <p className="rounded-md bg-bad-soft px-3 py-2 wrap-anywhere whitespace-pre-wrap text-bad">{part.content.trim()}</p>
  ) : null;
}

/** A file's path. Clicking it opens the file beside the thread. */
export function Path({ path, conversation, gone }: { path: string; conversation: string; gone?: boolean }) {
  if (gone) return <span className="min-w-0 truncate font-mono text-xs line-through">{path}</span>;
  return (
    <button
      type="button"
      title={`Open ${path}`}
      className="min-w-0 truncate rounded-sm font-mono text-xs text-accent hover:underline"
      onClick={() => go({ conversation, view: "files", at: path })}
    >
      {path}
    </button>
  );
}

/** The numbers of added and removed lines: +3 −1. */
export function Counts({ added, removed }: { added: number; removed: number }) {
  return (
    <span className="tabular shrink-0 font-mono text-xs">
      <span className="sr-only">
        {plural(added, "line")} added, {plural(removed, "line")} removed
      </span>
      <span aria-hidden="true">
        <span className="text-added">+{added}</span> <span className="text-removed">−{removed}</span>
      </span>
    </span>
  );
}

const ops = { create: "new", write: "changed", delete: "deleted" };

function Changed({ file, conversation }: { file: FileDetail; conversation: string }) {
  const { hunks, cut } = useMemo(() => hunksOf(file), [file]);
  const { after } = file;
  return (
    <div className="space-y-1.5">
      <div className="flex min-w-0 items-center gap-2">
        <Icon name="file" small className="text-ink-quiet" />
        <Path path={file.path} conversation={conversation} gone={file.op === "delete"} />
        {file.op && file.op !== "write" && <span className="text-xs text-ink-quiet">{ops[file.op]}</span>}
        <span className="flex-1" />
        {file.op && <Counts added={file.added} removed={file.removed} />}
      </div>
      {!file.op && <p className="text-ink-quiet">The file already had this content.</p>}
      {file.op && (hunks.length > 0 || cut) && (
        <Diff
          hunks={hunks}
          cut={cut}
          label={`Changes of ${file.path}`}
          after={after ? () => api.workspaceText(conversation, file.path, after) : undefined}
        />
      )}
      {file.op && !hunks.length && !cut && (
        <p className="text-ink-quiet">
          {file.size ? `${bytes(file.size)}; binary and very large files have no diff.` : "The file is empty."}
        </p>
      )}
    </div>
  );
}

function Command({ command: c, conversation }: { command: CommandDetail; conversation: string }) {
  const words = [c.ended ? (endings[c.ended] ?? "stopped: its sandbox failed") : `exit ${c.exit}`, duration(c.ms)];
  const bad = c.exit !== 0 || c.ended !== undefined;
  return (
    <div className="space-y-3">
      {c.description && <p className="text-ink-soft">{c.description}</p>}
      <div className="terminal">
        <pre className="command" aria-label="Command">
          {c.command}
        </pre>
        {c.output ? (
          <pre className="output" tabIndex={0} role="region" aria-label="Output">
            {c.output}
          </pre>
        ) : (
          <p className="end">No output.</p>
        )}
        <p className={`end tabular flex items-center gap-1.5 ${bad ? "bad" : ""}`}>
          <Icon name={bad ? "alert" : "check"} small />
          {words.join(" · ")}
        </p>
      </div>
      {c.changes?.map((f) => (
        <Changed key={f.path} file={f} conversation={conversation} />
      ))}
      {c.more_changes ? (
        <p className="text-ink-quiet">And {plural(c.more_changes, "more file")}: see the files of the workspace.</p>
      ) : null}
    </div>
  );
}

const maxListed = 200;

function Found({ list, conversation }: { list: ListDetail; conversation: string }) {
  const files = list.files ?? [];
  if (!files.length) return <p className="text-ink-quiet">No files found.</p>;
  return (
    <ul className="bounded overflow-y-auto" tabIndex={0} aria-label="Files found">
      {files.slice(0, maxListed).map((f) => (
        <li key={f.path} className="flex min-w-0 items-center gap-2 py-0.5">
          <Icon name="file" small className="text-ink-quiet" />
          <Path path={f.path} conversation={conversation} />
          <span className="flex-1" />
          <span className="tabular shrink-0 text-xs text-ink-quiet">{bytes(f.size)}</span>
        </li>
      ))}
      {files.length > maxListed && (
        <li className="text-xs text-ink-quiet">and {plural(files.length - maxListed, "more file")}</li>
      )}
    </ul>
  );
}

/** The lines that Read returned, with their numbers. */
function ReadFile({ file, content, conversation }: { file: FileDetail; content: string; conversation: string }) {
  const { lines, note } = useMemo(() => readLines(content), [content]);
  return (
    <div className="space-y-1.5">
      <div className="flex min-w-0 items-center gap-2">
        <Icon name="file" small className="text-ink-quiet" />
        <Path path={file.path} conversation={conversation} />
        <span className="flex-1" />
        <span className="tabular shrink-0 text-xs text-ink-quiet">{bytes(file.size)}</span>
      </div>
      {lines.length > 0 && <Numbered lines={lines} label={`Lines of ${file.path}`} />}
      {note && <p className="text-ink-quiet">{note}</p>}
    </div>
  );
}

/** Parses the output of Read: each line is a number, a tab and the text. Lines without a number are notes. */
export function readLines(content: string): { lines: { number: number; text: string }[]; note: string } {
  const lines: { number: number; text: string }[] = [];
  const notes: string[] = [];
  for (const line of content.split("\n")) {
    const m = /^ *(\d+)\t(.*)$/.exec(line);
    if (m) lines.push({ number: Number(m[1]), text: m[2]! });
    else if (line.trim()) notes.push(line.trim());
  }
  return { lines, note: notes.join(" ") };
}

const maxLines = 400;

function Numbered({
  lines,
  label,
}: {
  lines: readonly { number: number; text: string; hit?: boolean }[];
  label: string;
}) {
  return (
    <div className="diff bounded" tabIndex={0} role="region" aria-label={label}>
      <table>
        <tbody>
          {lines.slice(0, maxLines).map((l) => (
            <tr key={l.number} className={l.hit ? "hit" : undefined}>
              <td className="number">{l.number}</td>
              <td className="line">{l.text || "\u200b"}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {lines.length > maxLines && (
        <p className="more">and {plural(lines.length - maxLines, "more line")}: open the file to see them.</p>
      )}
    </div>
  );
}

/** The matches that Grep returned, by file. */
function Matches({ content, conversation }: { content: string; conversation: string }) {
  const { files, note } = useMemo(() => matches(content), [content]);
  return (
    <div className="space-y-2">
      {files.map((f) => (
        <div key={f.path} className="space-y-1">
          <div className="flex min-w-0 items-center gap-2">
            <Icon name="file" small className="text-ink-quiet" />
            <Path path={f.path} conversation={conversation} />
            {f.count !== undefined && <span className="tabular text-xs text-ink-quiet">{plural(f.count, "line")}</span>}
          </div>
          {f.lines.length > 0 && <Numbered lines={f.lines} label={`Matches in ${f.path}`} />}
        </div>
      ))}
      {note && <p className="text-ink-quiet">{note}</p>}
    </div>
  );
}

interface Match {
  path: string;
  count?: number;
  lines: { number: number; text: string; hit?: boolean }[];
}

/** Parses the three formats of Grep's output: file names, names with counts, and matching lines. */
export function matches(content: string): { files: Match[]; note: string } {
  const files = new Map<string, Match>();
  const notes: string[] = [];
  const file = (path: string) => {
    const f = files.get(path) ?? { path, lines: [] };
    files.set(path, f);
    return f;
  };
  for (const line of content.split("\n")) {
    if (!line || line === "--") continue;
    const hit = /^(.+?):(\d+):(.*)$/.exec(line);
    const near = /^(.+?)-(\d+)-(.*)$/.exec(line);
    const counted = /^(.+):(\d+)$/.exec(line);
    if (/^\(.*\)$/.test(line) || /^Nothing matches /.test(line)) notes.push(line.replace(/^\((.*)\)$/, "$1"));
    else if (near && files.has(near[1]!) && !hit)
      file(near[1]!).lines.push({ number: Number(near[2]), text: near[3]! });
    else if (hit) file(hit[1]!).lines.push({ number: Number(hit[2]), text: hit[3]!, hit: true });
    else if (near && !/\s/.test(near[1]!)) file(near[1]!).lines.push({ number: Number(near[2]), text: near[3]! });
    else if (counted) file(counted[1]!).count = Number(counted[2]);
    else file(line);
  }
  return { files: [...files.values()], note: notes.join(" ") };
}
