import { useMemo, useRef, useState } from "react";
import { api, errorMessage, type WorkspaceChange, type WorkspaceFile } from "../../api/client";
import { invalidate, useLoad } from "../../api/load";
import type { Log } from "../../log/store";
import { useLog } from "../../log/store";
import { download } from "../../lib/download";
import { bytes, clock } from "../../lib/format";
import { go } from "../../lib/router";
import { rem, useVisible } from "../../lib/visible";
import { reveal } from "../../thread/reveal";
import { Button, IconButton } from "../../ui/Button";
import { Icon } from "../../ui/Icon";
import { Tabs } from "../../ui/Tabs";
import { Counts } from "./CallCard";
import { Diff } from "./Diff";
import { counts, linesOf, parse } from "./diff";
import { addressOf, maker, type Selection } from "./history";

interface Props {
  log: Log;
  selection: Selection;
  files: readonly WorkspaceFile[];
  changes: readonly WorkspaceChange[];
  onAt: (at: string | undefined) => void;
  reload: () => void;
}

/** One file: its content and its versions. */
export function FileView({ log, selection, files, changes, onAt, reload }: Props) {
  const { path } = selection;
  const file = files.find((f) => f.path === path);
  const versions = useMemo(() => changes.filter((c) => c.path === path), [changes, path]);
  const now = selection.seq !== undefined || !file ? "versions" : "content";
  return (
    <>
      <div className="flex min-w-0 shrink-0 items-center gap-1 border-b py-1.5 pr-2 pl-1">
        <IconButton
          icon="chevron"
          small
          label="All files"
          className="[&>svg]:rotate-180"
          onClick={() => onAt(undefined)}
        />
        <h3 className="min-w-0 truncate font-mono text-xs font-semibold" title={path}>
          {path}
        </h3>
        <span className="tabular shrink-0 pl-1 text-xs text-ink-quiet">{file ? bytes(file.size) : "deleted"}</span>
        <span className="flex-1" />
        {file && (
          <IconButton
            icon="download"
            small
            label={`Download ${path}`}
            onClick={() => download(api.workspaceFileUrl(log.id, path))}
          />
        )}
      </div>
      <div className="shrink-0 px-3 py-1.5">
        <Tabs
          name="coder-file"
          label="Views of the file"
          tabs={[
            { id: "content", label: "Content" },
            { id: "versions", label: `Versions · ${versions.length}` },
          ]}
          now={now}
          onChange={(t) => onAt(t === "content" ? path : addressOf({ path, seq: selection.seq ?? 0 }))}
        />
      </div>
      <div
        role="tabpanel"
        id="coder-file-panel"
        aria-labelledby={`coder-file-${now}`}
        className="flex min-h-0 flex-1 flex-col"
      >
        {now === "content" && file ? (
          <Content log={log} file={file} />
        ) : (
          <Versions
            log={log}
            path={path}
            versions={versions}
            exists={file !== undefined}
            open={selection.seq}
            reload={reload}
          />
        )}
      </div>
    </>
  );
}

const maxShownBytes = 4_000_000;

function Content({ log, file }: { log: Log; file: WorkspaceFile }) {
  const large = file.size > maxShownBytes;
  const { data, error } = useLoad(
    large ? "" : `workspace-file:${log.id}:${file.changed}:${file.size}:${file.path}`,
    () => api.workspaceContent(log.id, file.path),
  );
  const words = large
    ? `The file is too large to show (${bytes(file.size)}). Download it to see it.`
    : data?.binary
      ? "This is not a text file. Download it to open it."
      : data?.text === ""
        ? "The file is empty."
        : "";
  if (error) {
    return (
      <p role="alert" className="p-4 text-sm text-bad">
        {error}
      </p>
    );
  }
  if (words) return <p className="p-4 text-sm text-ink-quiet">{words}</p>;
  return data ? <Lines text={data.text} label={`Content of ${file.path}`} /> : null;
}

/** Shorter files are rendered in full, so that the browser's search finds every line. */
const windowAbove = 1500; // lines

function Lines({ text, label }: { text: string; label: string }) {
  const { lines } = useMemo(() => linesOf(text), [text]);
  const scroller = useRef<HTMLDivElement>(null);
  const height = useMemo(() => rem(1.125), []);
  const seen = useVisible(scroller, lines.length, (i) => i * height);
  const { from, to } = lines.length <= windowAbove ? { from: 0, to: lines.length } : seen;
  const widest = useMemo(
    () => lines.reduce((n, l) => Math.max(n, l.length + 3 * (l.split("\t").length - 1)), 0),
    [lines],
  );
  const digits = String(lines.length).length;
  return (
    <div ref={scroller} tabIndex={0} role="region" aria-label={label} className="lines min-h-0 flex-1 border-t">
      <div className="relative" style={{ height: lines.length * height, minWidth: `${widest + digits + 8}ch` }}>
        <ol className="absolute inset-x-0" style={{ top: from * height }} start={from + 1}>
          {lines.slice(from, to).map((l, i) => (
            <li key={from + i} style={{ height }}>
              <span className="number" style={{ width: `${digits + 5}ch` }}>
                {from + i + 1}
              </span>
              <span>{l || "\u200b"}</span>
            </li>
          ))}
        </ol>
      </div>
    </div>
  );
}

interface VersionsProps {
  log: Log;
  path: string;
  versions: readonly WorkspaceChange[];
  exists: boolean;
  open?: number;
  reload: () => void;
}

function Versions({ log, path, versions, exists, open, reload }: VersionsProps) {
  const [status, setStatus] = useState({ text: "", bad: false });
  const top = useRef<HTMLDivElement>(null);
  const last = versions.at(-1);
  const revert = async (digest: string | undefined, text: string) => {
    try {
      await api.revertFile(log.id, path, digest);
      invalidate(`preview:${log.id}:`);
      setStatus({ text, bad: false });
      reload();
    } catch (err) {
      setStatus({ text: errorMessage(err), bad: true });
    }
    top.current?.focus();
  };
  if (!versions.length) return <p className="p-4 text-sm text-ink-quiet">This file has no recorded history.</p>;
  return (
    <div ref={top} tabIndex={-1} className="scroll min-h-0 flex-1 border-t px-3 py-3 outline-none">
      <p
        role="status"
        className={
          status.text
            ? `mb-3 rounded-md px-3 py-2 text-sm ${status.bad ? "bg-bad-soft text-bad" : "bg-good-soft text-good"}`
            : "sr-only"
        }
      >
        {status.text}
      </p>
      <ol className="space-y-2" aria-label="Versions, newest first">
        {versions
          .map((c, i) => (
            <Version
              key={c.seq}
              change={c}
              number={i + 1}
              log={log}
              open={open ? c.seq === open : c === last}
              newest={c === last}
              onRevert={
                c === last
                  ? c.before || c.op === "create"
                    ? () =>
                        void revert(
                          c.before,
                          c.before ? `Undone. ${path} has its previous content.` : `${path} was removed.`,
                        )
                    : undefined
                  : c.after && (!exists || c.after !== last?.after)
                    ? () => void revert(c.after, `${path} was restored to version ${i + 1}.`)
                    : undefined
              }
            />
          ))
          .reverse()}
      </ol>
    </div>
  );
}

interface VersionProps {
  change: WorkspaceChange;
  number: number;
  log: Log;
  open: boolean;
  newest: boolean;
  onRevert?: () => void;
}

function Version({ change: c, number, log, open: first, newest, onRevert }: VersionProps) {
  const [open, setOpen] = useState(first);
  const { hunks, cut } = useMemo(() => parse(c.diff ?? ""), [c.diff]);
  const { added, removed } = useMemo(() => counts(hunks), [hunks]);
  const inThread = useLog(
    log,
    (s) =>
      c.call_id !== undefined && s.turns.some((t) => t.parts.some((p) => p.kind === "tool" && p.key === c.call_id)),
  );
  const { after } = c;
  return (
    <li className="rounded-md border bg-surface">
      <button
        type="button"
        aria-expanded={open}
        onClick={() => setOpen(!open)}
        className="flex min-h-9 w-full min-w-0 items-center gap-2 rounded-md px-3 py-1.5 text-left text-sm hover:bg-hover"
      >
        <span className="tabular shrink-0 text-ink-quiet">v{number}</span>
        <span className="min-w-0 truncate font-medium">{maker(c)}</span>
        {newest && <span className="shrink-0 text-xs text-ink-quiet">newest</span>}
        <span className="flex-1" />
        {hunks.length > 0 && <Counts added={added} removed={removed} />}
        <span className="tabular shrink-0 text-xs text-ink-quiet" title={new Date(c.time).toLocaleString("en-GB")}>
          {clock(c.time)}
        </span>
        <Icon
          name="chevron"
          small
          className={`shrink-0 text-ink-quiet transition-transform ${open ? "rotate-90" : ""}`}
        />
      </button>
      {open && (
        <div className="space-y-2 border-t px-3 py-2">
          {hunks.length > 0 || cut ? (
            <Diff
              hunks={hunks}
              cut={cut}
              tall
              label={`Version ${number}`}
              after={after && c.kept ? () => api.workspaceText(log.id, c.path, after) : undefined}
            />
          ) : (
            <p className="text-sm text-ink-quiet">
              {c.op === "delete"
                ? "There is no diff."
                : `${bytes(c.size)}; binary, empty and very large files have no diff.`}
            </p>
          )}
          <div className="-mx-1.5 flex flex-wrap items-center gap-1">
            {inThread && (
              <Button look="quiet" icon="link" onClick={() => show(log.id, c.call_id!)}>
                Show the call
              </Button>
            )}
            {c.kept && after && (
              <Button
                look="quiet"
                icon="download"
                onClick={() => download(api.workspaceFileUrl(log.id, c.path, after))}
              >
                This version
              </Button>
            )}
            {onRevert && (
              <Button look="quiet" icon="retry" className="[&>svg]:-scale-x-100" onClick={onRevert}>
                {newest
                  ? { delete: "Restore the file", create: "Remove the file", write: "Undo this change" }[c.op]
                  : "Restore this version"}
              </Button>
            )}
          </div>
        </div>
      )}
    </li>
  );
}

/** Shows a call in the thread. On a narrow screen, closes the pane that covers it. */
function show(conversation: string, call: string): void {
  if (!matchMedia("(min-width: 64rem)").matches) go({ conversation });
  reveal(call);
}
