import { useEffect, useMemo, useRef, useState } from "react";
import { api, type WorkspaceChange, type WorkspaceFile } from "../../api/client";
import { useLoad } from "../../api/load";
import { useLog } from "../../log/store";
import { bytes, clock, plural } from "../../lib/format";
import { Icon } from "../../ui/Icon";
import type { CoderPaneProps } from "../slots";
import { Counts } from "./CallCard";
import { FileView } from "./FileView";
import { addressOf, maker, parseSelection, changedFiles, type ChangedFile } from "./history";
import { tree, type Folder } from "./tree";
import "./coder.css";

/** The files of the conversation's workspace: the changed ones, all of them, or one with its history. */
export default function CoderPane({ log, at, onAt }: CoderPaneProps) {
  const done = useLog(log, (c) =>
    c.turns.reduce((n, t) => n + t.parts.filter((p) => p.kind === "tool" && p.content !== undefined).length, 0),
  );
  const { data, error, loading, reload } = useLoad(`workspace:${log.id}`, () => api.workspace(log.id));
  const known = useRef(data !== undefined);
  useEffect(() => {
    if (known.current) reload(); // a call has ended, or the cached list is out of date
    known.current = true;
  }, [done, reload]);
  if (!data) {
    return (
      <div className="p-4 text-sm text-ink-quiet">
        {error ? (
          <p role="alert" className="text-bad">
            {error}
          </p>
        ) : (
          loading && <p>Loading the files.</p>
        )}
      </div>
    );
  }
  const selection = parseSelection(at);
  if (selection)
    return (
      <FileView
        key={selection.path}
        log={log}
        selection={selection}
        files={data.files}
        changes={data.changes}
        onAt={onAt}
        reload={reload}
      />
    );
  return <Overview files={data.files} changes={data.changes} onAt={onAt} />;
}

const searchAbove = 12; // files

function Overview({
  files,
  changes,
  onAt,
}: {
  files: readonly WorkspaceFile[];
  changes: readonly WorkspaceChange[];
  onAt: CoderPaneProps["onAt"];
}) {
  const [query, setQuery] = useState("");
  const own = useMemo(() => changedFiles(changes), [changes]);
  const words = query.trim().toLowerCase();
  const found = useMemo(
    () => tree(words ? files.filter((f) => f.path.toLowerCase().includes(words)) : files),
    [files, words],
  );
  if (!files.length && !own.length) {
    return (
      <p className="p-4 text-sm text-ink-quiet">
        There are no files yet. The workspace is created when the assistant first uses it.
      </p>
    );
  }
  return (
    <div className="scroll min-h-0 flex-1 space-y-6 px-2 py-4">
      <section aria-labelledby="coder-changed">
        <h3 id="coder-changed" className="px-2 pb-1 text-xs text-ink-quiet">
          Changed by this conversation
        </h3>
        {own.length === 0 ? (
          <p className="px-2 text-sm text-ink-quiet">No files changed.</p>
        ) : (
          <ul>
            {own.map((f) => (
              <ChangedFileRow key={f.path} file={f} onOpen={() => onAt(addressOf({ path: f.path, seq: f.last.seq }))} />
            ))}
          </ul>
        )}
      </section>
      <section aria-labelledby="coder-all">
        <div className="flex items-center gap-3 px-2 pb-1">
          <h3 id="coder-all" className="text-xs text-ink-quiet">
            All files
          </h3>
          <span className="tabular text-xs text-ink-quiet">
            {files.length}, {bytes(files.reduce((n, f) => n + f.size, 0))}
          </span>
        </div>
        {files.length > searchAbove && (
          <input
            type="search"
            aria-label="Find a file"
            placeholder="Find a file"
            value={query}
            onChange={(e) => setQuery(e.target.value)}
            className="mx-2 mb-1 h-8 rounded-md border bg-surface px-2 text-sm"
          />
        )}
        <Contents folder={found} deep={0} open={words !== "" || files.length <= 200} onOpen={onAt} />
        {words && !found.files.length && !found.folders.length && (
          <p className="px-2 text-sm text-ink-quiet">No file names match.</p>
        )}
      </section>
    </div>
  );
}

const row = "flex min-h-8 w-full min-w-0 items-center gap-2 rounded-md px-2 text-left text-sm hover:bg-hover";

function ChangedFileRow({ file, onOpen }: { file: ChangedFile; onOpen: () => void }) {
  return (
    <li>
      <button type="button" onClick={onOpen} className={row}>
        <Icon
          name={file.state === "deleted" ? "trash" : file.state === "new" ? "plus" : "edit"}
          small
          className="text-ink-quiet"
        />
        <span className={`min-w-0 truncate font-mono text-xs ${file.state === "deleted" ? "line-through" : ""}`}>
          {file.path}
        </span>
        <span className="shrink-0 text-xs text-ink-quiet">
          {file.state === "changed"
            ? file.times > 1
              ? plural(file.times, "change")
              : maker(file.last).toLowerCase()
            : file.state}
        </span>
        <span className="flex-1" />
        <Counts added={file.added} removed={file.removed} />
        <span className="tabular shrink-0 text-xs text-ink-quiet">{clock(file.last.time)}</span>
      </button>
    </li>
  );
}

function Contents({
  folder,
  deep,
  open,
  onOpen,
}: {
  folder: Folder<WorkspaceFile>;
  deep: number;
  open: boolean;
  onOpen: (path: string) => void;
}) {
  return (
    <ul className={deep ? "ml-3.5 border-l pl-1.5" : ""}>
      {folder.folders.map((f) => (
        <FolderRow key={f.path} folder={f} deep={deep} open={open} onOpen={onOpen} />
      ))}
      {folder.files.map((f) => (
        <li key={f.path}>
          <button type="button" onClick={() => onOpen(f.path)} className={row}>
            <Icon name="file" small className="text-ink-quiet" />
            <span className="min-w-0 flex-1 truncate font-mono text-xs">
              {f.path.slice(f.path.lastIndexOf("/") + 1)}
            </span>
            <span className="tabular shrink-0 text-xs text-ink-quiet">{bytes(f.size)}</span>
          </button>
        </li>
      ))}
    </ul>
  );
}

function FolderRow({
  folder,
  deep,
  open: all,
  onOpen,
}: {
  folder: Folder<WorkspaceFile>;
  deep: number;
  open: boolean;
  onOpen: (path: string) => void;
}) {
  const [own, setOwn] = useState<boolean>();
  const open = own ?? all;
  return (
    <li>
      <button type="button" aria-expanded={open} onClick={() => setOwn(!open)} className={row}>
        <Icon name="chevron" small className={`text-ink-quiet transition-transform ${open ? "rotate-90" : ""}`} />
        <span className="min-w-0 truncate font-mono text-xs">{folder.name}/</span>
      </button>
      {open && <Contents folder={folder} deep={deep + 1} open={all} onOpen={onOpen} />}
    </li>
  );
}
