// The statement of a result, to be read, changed and run again. A changed one makes
// a new version of the result; what became of it is shown line by line.
import { useEffect, useMemo, useRef, useState } from "react";
import { api, ApiError, sentence } from "../../api/client";
import { useLoad } from "../../api/load";
import { useFirstRows } from "../../api/rows";
import { duration } from "../../lib/format";
import { who } from "../../lib/me";
import type { ShownResult } from "../../log/conversation";
import { Button, IconButton } from "../../ui/Button";
import { Icon } from "../../ui/Icon";
import { Grid } from "../grid/Grid";
import { Hidden, hiddenRows } from "../Hidden";
import type { SqlPaneProps } from "../slots";
import { diff, format, lineAndColumn, placeOf, same } from "../statement";
import { editor, type Editor } from "./editor";

const mac = typeof navigator !== "undefined" && /Mac|iPhone|iPad/.test(navigator.platform);

// What was typed and not run yet outlives a look at the chart.
const drafts = new Map<string, string>();

export default function SqlPane({ conversation, result, here, earlier, onVersion }: SqlPaneProps) {
  const key = `${conversation}.${result.id}`;
  const original = useMemo(() => format(result.sql ?? ""), [result.sql]);
  const [text, setText] = useState(drafts.get(key) ?? original);
  const [error, setError] = useState<{ words: string; at?: { from: number; to: number } }>();
  const [busy, setBusy] = useState(false);
  const [compared, setCompared] = useState(false);
  const host = useRef<HTMLDivElement>(null);
  const ed = useRef<Editor>(undefined);
  const changed = !same(text, result.sql ?? "");
  const server = Boolean(result.source) && result.source !== "client";
  const runnable = server || here?.ready === true;
  const loaded = useLoad(server ? `schema:${result.source}` : "", () => api.schema(result.source!));
  const schema = here?.schema ?? loaded.data;

  const abort = useRef<AbortController>(undefined);
  const run = useRef(() => {});
  run.current = () => {
    const sql = ed.current?.text() ?? text;
    if (busy || !runnable || !sql.trim()) return;
    setBusy(true);
    setError(undefined);
    ed.current?.point(undefined);
    const { signal } = (abort.current = new AbortController());
    const fresh = here
      ? here.run(sql, signal)
      : api.query(result.source!, { sql, conversation, replaces: result.id }, signal).then((a) => a.result.id ?? "");
    fresh
      .then(
        (id) => {
          drafts.delete(key);
          if (id) onVersion(id.slice(id.lastIndexOf(".") + 1));
        },
        (err: unknown) => {
          if (signal.aborted) return setError({ words: "The run was given up." });
          // What DuckDB says of a file of this browser may be read here.
          const words = here && !(err instanceof ApiError) && err instanceof Error ? err.message : sentence(err);
          const at = placeOf(words, sql);
          ed.current?.point(at);
          setError({ words, ...(at ? { at } : {}) });
        },
      )
      .finally(() => setBusy(false));
  };
  useEffect(() => () => abort.current?.abort(), []);

  useEffect(() => {
    const e = editor(host.current!, drafts.get(key) ?? original, {
      change: () => {
        const now = e.text();
        drafts.set(key, now);
        setText(now);
        setError(undefined);
      },
      run: () => run.current(),
    });
    ed.current = e;
    return () => e.destroy();
  }, [key, original]);
  useEffect(() => {
    if (schema) ed.current?.complete(schema);
  }, [schema, key, original]);

  const put = (sql: string) => ed.current?.setText(sql);
  const first = earlier[0];
  // Against what came before: of a version its predecessor, of an edit the version.
  const before = changed ? result : earlier.at(-1);
  const place = error?.at && lineAndColumn(text, error.at.from);
  return (
    <div className="flex min-h-0 flex-1 flex-col">
      <Versions result={result} earlier={earlier} changed={changed} onVersion={onVersion} />
      <div className="flex min-h-40 flex-1 basis-0 flex-col overflow-hidden border-y bg-sunken focus-within:border-line-strong">
        {compared && before && <Changes before={before} text={text} />}
        <div ref={host} className={compared && before ? "hidden" : "min-h-0 flex-1"} />
      </div>
      {error && (
        <div role="alert" className="flex items-start gap-2 border-b bg-bad-soft px-4 py-2 text-sm text-bad">
          <Icon name="alert" small className="mt-0.5" />
          <p className="min-w-0 flex-1 wrap-anywhere">
            {place && (
              <strong className="tabular font-semibold">
                Line {place.line}, column {place.column}:{" "}
              </strong>
            )}
            {error.words}
          </p>
        </div>
      )}
      <div className="flex flex-wrap items-center gap-2 px-4 py-2">
        {busy ? (
          <Button icon="stop" onClick={() => abort.current?.abort()}>
            Give up
          </Button>
        ) : (
          <Button
            look={changed ? "primary" : "plain"}
            disabled={!text.trim() || !runnable}
            title={`Run (${mac ? "⌘" : "Ctrl"}+Enter)`}
            onClick={() => run.current()}
          >
            Run
          </Button>
        )}
        {before && (
          <Button
            look="quiet"
            aria-pressed={compared}
            onClick={() => setCompared(!compared)}
            className="aria-pressed:bg-hover"
          >
            Changes since v{before.version}
          </Button>
        )}
        {changed && (
          <Button look="quiet" onClick={() => put(original)}>
            Undo changes
          </Button>
        )}
        <span className="flex-1" />
        <IconButton icon="layout" small label="Lay out" onClick={() => put(format(ed.current?.text() ?? text, true))} />
        <Copy text={() => ed.current?.text() ?? text} />
      </div>
      {(here || !runnable) && <p className="px-4 pb-2 text-xs text-ink-quiet">{where(result, here)}</p>}
      {first && !changed && (
        <p className="px-4 pb-2 text-xs text-ink-quiet">The answer in the conversation quotes v{first.version}.</p>
      )}
      <Preview conversation={conversation} result={result} stale={changed} />
    </div>
  );
}

/** Where a statement runs that is not the server's, or why it cannot. */
function where(result: ShownResult, here: SqlPaneProps["here"]): string {
  if (here?.ready) return "It runs in this browser, over your file. The rows stay here.";
  if (here) return "It ran in the browser, over a file that is not open here. Open the file again to run it.";
  return result.sql
    ? "It cannot be run again: its source is not known."
    : "This result was worked out from earlier ones, not by a statement: there is nothing to run again.";
}

function Versions({
  result,
  earlier,
  changed,
  onVersion,
}: Pick<SqlPaneProps, "result" | "earlier" | "onVersion"> & { changed: boolean }) {
  const all = [...earlier, result];
  return (
    <div className="flex flex-wrap items-center gap-1 px-3 py-2 text-xs text-ink-quiet">
      {all.map((v) => (
        <button
          key={v.id}
          type="button"
          aria-pressed={v.id === result.id}
          onClick={() => v.id !== result.id && onVersion(v.id)}
          className={`rounded-full border px-2.5 py-0.5 ${v.id === result.id ? "border-accent font-medium text-accent" : "hover:bg-hover hover:text-ink"}`}
        >
          {versionName(v)}
        </button>
      ))}
      {changed && <span className="px-1">changed, not run yet</span>}
      <span className="flex-1" />
      {result.millis !== undefined && <span className="tabular px-1">{duration(result.millis)}</span>}
    </div>
  );
}

const versionName = (v: ShownResult) =>
  `v${v.version}${v.by === "user" ? `, by ${who(v.author)}` : ", by the assistant"}`;

function Changes({ before, text }: { before: ShownResult; text: string }) {
  const lines = diff(format(before.sql ?? ""), format(text));
  const sign = { same: " ", gone: "−", new: "+" };
  const word = { same: "", gone: "taken away: ", new: "new: " };
  const look = { same: "", gone: "bg-bad-soft text-bad", new: "bg-good-soft text-good" };
  return (
    <div
      role="region"
      aria-label={`Changes since v${before.version}`}
      tabIndex={0}
      className="min-h-0 flex-1 overflow-auto py-3 font-mono text-sm"
    >
      {lines.every((l) => l.kind === "same") && (
        <p className="px-4 pb-2 font-sans text-ink-quiet">Nothing has changed.</p>
      )}
      {lines.map((l, i) => (
        <div key={i} data-diff={l.kind} className={`flex min-w-fit gap-2 px-3 whitespace-pre-wrap ${look[l.kind]}`}>
          <span aria-hidden="true" className="w-3 shrink-0 select-none">
            {sign[l.kind]}
          </span>
          <span>
            {word[l.kind] && <span className="sr-only">{word[l.kind]}</span>}
            {l.text || " "}
          </span>
        </div>
      ))}
    </div>
  );
}

function Copy({ text }: { text: () => string }) {
  const [done, setDone] = useState(false);
  return (
    <IconButton
      icon={done ? "check" : "copy"}
      small
      label={done ? "Copied" : "Copy the SQL"}
      onClick={() =>
        navigator.clipboard.writeText(text()).then(
          () => {
            setDone(true);
            setTimeout(() => setDone(false), 1500);
          },
          () => {}, // the browser does not allow it; the text can be selected
        )
      }
    />
  );
}

/** The rows that the version gave. */
function Preview({ conversation, result, stale }: { conversation: string; result: ShownResult; stale: boolean }) {
  const { data, error } = useFirstRows({ conversation, id: result.id });
  const hidden = data ? hiddenRows(result.source, data) : 0;
  return (
    <section
      aria-label="Rows of this version"
      className={`flex min-h-36 flex-1 basis-0 flex-col border-t ${stale ? "bg-sunken" : ""}`}
    >
      {stale && (
        <p className="border-b px-4 py-1.5 text-xs text-ink-quiet">
          These are the rows of v{result.version}. What you changed has not run yet.
        </p>
      )}
      {error && (
        <p role="alert" className="p-4 text-sm text-bad">
          {error}
        </p>
      )}
      {data && hidden > 0 && <Hidden rows={hidden} of={data.row_count} />}
      {data && data.row_count === 0 && <p className="p-4 text-sm text-ink-quiet">It gave no rows.</p>}
      {data && data.row_count - hidden > 0 && (
        <Grid
          source={{ conversation, id: result.id }}
          columns={data.columns}
          first={data.rows}
          count={data.row_count - hidden}
          truncated={data.truncated}
          label={`Rows of v${result.version}`}
        />
      )}
    </section>
  );
}
