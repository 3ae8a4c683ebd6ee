import { useEffect, useState } from "react";
import { chip } from "../../composer/Composer";
import { count, plural } from "../../lib/format";
import type { Conversation, ToolPart } from "../../log/conversation";
import { useLog, type Log } from "../../log/store";
import { Button, IconButton } from "../../ui/Button";
import { Dialog } from "../../ui/Dialog";
import { Icon } from "../../ui/Icon";
import { Menu } from "../../ui/Menu";
import type { LocalFilesProps } from "../slots";
import { choose, useChoice, type Choice } from "./consent";
import { useDrop } from "./drop";
import { OpenFile } from "./OpenFile";
import { SendCells } from "./SendCells";
import { addFiles, readable, removeFile, restore, setKeep, useLocal, type LocalFile } from "./store";

/** The files that are open in this browser, which of their data leaves it and, in a conversation, what the model saw. */
export default function LocalFiles({ log, offline, asked = true }: LocalFilesProps) {
  const { files, keep } = useLocal();
  const choice = useChoice(log?.id ?? "");
  const [shown, setShown] = useState<LocalFile>();
  useEffect(() => void restore(), []);
  // The start page handles files that are dropped there itself.
  useDrop(log && ((dropped) => void addFiles(dropped.filter((f) => readable.test(f.name)))));
  if (!files.length && !log) return null;
  return (
    <section aria-label="Files in this browser" className="flex flex-wrap items-center gap-1.5 pb-2 text-sm">
      {log && <SendCells conversation={log.id} />}
      {!files.length && (
        <span className="text-warn">The file is not open in this browser. Open it again to ask more.</span>
      )}
      {log && <OpenFile />}
      {files.map((f) => (
        <span
          key={f.id}
          className={`inline-flex h-8 min-w-0 items-center gap-1 rounded-full pr-1 pl-2.5 ${f.state === "failed" ? "bg-bad-soft text-bad" : "bg-accent-soft text-accent"}`}
        >
          <Icon
            name={f.state === "loading" ? "spinner" : f.state === "failed" ? "alert" : "file"}
            small
            className={f.state === "loading" ? "turning" : ""}
          />
          <button
            type="button"
            className="min-w-0 truncate rounded-sm"
            title="What the model knows about this file"
            onClick={() => setShown(f)}
          >
            {f.name}
          </button>
          <span className="tabular shrink-0 text-xs">{facts(f)}</span>
          <IconButton icon="close" small round label={`Close ${f.name}`} onClick={() => void removeFile(f.id)} />
        </span>
      ))}
      <Menu
        label="What the model may see"
        side="above"
        groups={[
          ...(log && !offline
            ? [
                {
                  title: "Values sent to the model, in this conversation",
                  items: options.map((o) => ({
                    ...o,
                    checked: o.choice === choice,
                    onSelect: () => choose(log.id, o.choice),
                  })),
                },
              ]
            : []),
          {
            title: "After a reload",
            items: [{ label: "Keep a copy in this browser", checked: keep, onSelect: () => void setKeep(!keep) }],
          },
        ]}
        button={(p) => (
          <button type="button" {...p} className={chip}>
            <Icon name="key" small />
            {offline ? "No values leave this browser" : options.find((o) => o.choice === choice)!.now}
            <Icon name="down" small />
          </button>
        )}
      />
      {log && <Seen log={log} />}
      {asked && files.some((f) => f.state !== "failed") && <SentWithQuestion files={files} onShow={setShown} />}
      {files.some((f) => f.error) && (
        <div role="alert" className="w-full text-sm text-bad">
          {files.map((f) => f.error && <p key={f.id} className="wrap-anywhere">{`${f.name}: ${f.error}`}</p>)}
        </div>
      )}
      {shown && (
        <FileDetails file={files.find((f) => f.id === shown.id) ?? shown} onClose={() => setShown(undefined)} />
      )}
    </section>
  );
}

const options: { choice: Choice; label: string; hint: string; now: string }[] = [
  { choice: "ask", label: "Ask each time", hint: "You see the values first", now: "Asks about values first" },
  { choice: 0, label: "Send none", hint: "You read the table yourself", now: "No values are sent" },
  {
    choice: 50,
    label: "Send up to 50 per result",
    hint: "Enough for totals",
    now: "Up to 50 values per result are sent",
  },
  {
    choice: 1000,
    label: "Send up to 1,000 per result",
    hint: "Enough for longer lists",
    now: "Up to 1,000 values per result are sent",
  },
];

const maxNames = 12;

/** Says what is sent along with the next question. */
function SentWithQuestion({ files, onShow }: { files: readonly LocalFile[]; onShow: (f: LocalFile) => void }) {
  const names = files.flatMap((f) => f.tables.flatMap((t) => t.columns.map((c) => c.name)));
  const [first] = files.filter((f) => f.tables.length);
  if (!first)
    return (
      <p className="w-full text-xs text-ink-quiet">
        Sent with your question: the number of rows, and the names and types of the tables and columns. No values.
      </p>
    );
  const tables = files.flatMap((f) => f.tables.map((t) => t.name));
  return (
    <p className="w-full text-xs wrap-anywhere text-ink-quiet">
      Sent with your question: the number of rows, and these names and types:{" "}
      <span className="text-ink-soft">{tables.join(", ")}</span>:{" "}
      <span className="text-ink-soft">{names.slice(0, maxNames).join(", ")}</span>
      {names.length > maxNames && (
        <>
          {" "}
          <button
            type="button"
            className="rounded-sm underline underline-offset-2 hover:text-ink"
            onClick={() => onShow(first)}
          >
            and {plural(names.length - maxNames, "more name")}
          </button>
        </>
      )}
      . No values.
    </p>
  );
}

function facts(f: LocalFile): string {
  if (f.state === "loading") return "opening";
  if (f.state === "failed") return "can't be read";
  const rows = f.tables.reduce((n, t) => n + t.rows, 0);
  return f.tables.length > 1 ? `${plural(f.tables.length, "table")}, ${plural(rows, "row")}` : plural(rows, "row");
}

/** The names and types of a file, which are what the model knows about it before the user sends cells. */
function FileDetails({ file, onClose }: { file: LocalFile; onClose: () => void }) {
  return (
    <Dialog title={file.name} onClose={onClose} actions={<Button onClick={onClose}>Close</Button>}>
      {file.error ? (
        <p className="text-bad">{file.error}</p>
      ) : (
        <p className="pb-3 text-sm text-ink-soft">
          The model knows these names and types and the number of rows. The values stay in this browser until you send
          some.
        </p>
      )}
      {file.tables.map((t) => (
        <section key={t.name} className="pb-3" aria-label={t.name}>
          <h3 className="font-medium">
            {t.name} <span className="tabular text-sm font-normal text-ink-quiet">{plural(t.rows, "row")}</span>
          </h3>
          <ul className="grid gap-x-4 text-sm sm:grid-cols-2">
            {t.columns.map((c) => (
              <li key={c.name} className="flex gap-2">
                <span className="min-w-0 wrap-anywhere">{c.name}</span>
                <span className="shrink-0 text-ink-quiet">{c.type.toLowerCase()}</span>
              </li>
            ))}
          </ul>
        </section>
      ))}
    </Dialog>
  );
}

const calls = (c: Conversation): readonly Conversation["turns"][number][] => c.turns;

/** Shows the exact texts of results that were sent to the model. */
function Seen({ log }: { log: Log }) {
  const [open, setOpen] = useState(false);
  const turns = useLog(log, calls);
  const parts = turns.flatMap((t) =>
    t.parts.filter((p): p is ToolPart => p.kind === "tool" && p.by === "client" && p.content !== undefined),
  );
  if (!parts.length) return null;
  return (
    <>
      <button type="button" className={`${chip} border-transparent`} onClick={() => setOpen(true)}>
        What the model saw
      </button>
      {open && (
        <Dialog
          title="What the model saw"
          onClose={() => setOpen(false)}
          actions={<Button onClick={() => setOpen(false)}>Close</Button>}
        >
          <p className="pb-3 text-sm text-ink-soft">
            {plural(parts.length, "result")} in this conversation, exactly as they were sent. In total,{" "}
            {count(parts.reduce((n, p) => n + (p.content?.length ?? 0), 0))} characters.
          </p>
          {parts.map((p) => (
            <section key={p.key} aria-label={p.name} className="pb-3">
              <h3 className="text-sm font-medium">{p.name}</h3>
              <pre
                tabIndex={0}
                className="max-h-64 overflow-auto rounded-sm bg-sunken p-2 font-mono text-xs wrap-anywhere whitespace-pre-wrap"
              >
                {p.content}
              </pre>
            </section>
          ))}
        </Dialog>
      )}
    </>
  );
}
