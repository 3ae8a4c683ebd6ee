// The statement of a result, which can be edited and run again. Running an edited statement adds a version of the
// result. The pane can show the changes between versions.
import { useEffect, useMemo, useRef, useState } from "react";
import { api, ApiError, errorMessage, type Schema } from "../../api/client";
import { useLoad } from "../../api/load";
import { useFirstRows } from "../../api/rows";
import { duration } from "../../lib/format";
import { queryLimit, youOrName } from "../../lib/me";
import type { ShownResult } from "../../log/conversation";
import { logOf } from "../../log/store";
import { Button, IconButton } from "../../ui/Button";
import { Elapsed } from "../../ui/Elapsed";
import { Icon } from "../../ui/Icon";
import { Grid } from "../grid/Grid";
import { Hidden, hiddenRows } from "../Hidden";
import type { SqlPaneProps } from "../slots";
import { diff, format, lineAndColumn, placeOf, same } from "../statement";
import { editor, type Editor } from "./editor";

const mac = typeof navigator !== "undefined" && /Mac|iPhone|iPad/.test(navigator.platform);

interface Failed {
  words: string;
  at?: { from: number; to: number };
}

// Edited statements that have not run or have failed, and why, so that both survive switching panes.
const drafts = new Map<string, string>();
const failures = new Map<string, Failed>();

export default function SqlPane({ conversation, result, localRun, earlier, onVersion }: SqlPaneProps) {
  const key = `${conversation}.${result.id}`;
  const original = useMemo(() => format(result.sql ?? ""), [result.sql]);
  const [text, setText] = useState(drafts.get(key) ?? original);
  const [error, showError] = useState(failures.get(key));
  const setError = (e?: Failed) => {
    if (e) failures.set(key, e);
    else failures.delete(key);
    showError(e);
  };
  const [began, setBegan] = useState<number>(); // set while the statement runs
  const busy = began !== undefined;
  const [compared, setCompared] = useState(false);
  const host = useRef<HTMLDivElement>(null);
  const ed = useRef<Editor>(undefined);
  const changed = !same(text, result.sql ?? "");
  const server = Boolean(result.source) && result.source !== "client";
  const calculated = Boolean(result.parents?.length);
  const runnable = server || calculated || localRun?.ready === true;
  const loaded = useLoad(server ? `schema:${result.source}` : "", () => api.schema(result.source!));
  const results = useMemo(() => (calculated ? resultsSchema(conversation) : undefined), [calculated, conversation]);
  const schema = localRun?.schema ?? results ?? loaded.data;

  const abort = useRef<AbortController>(undefined);
  const run = useRef(() => {});
  run.current = () => {
    const sql = ed.current?.text() ?? text;
    if (busy || !runnable || !sql.trim()) return;
    setBegan(Date.now());
    setError(undefined);
    ed.current?.point(undefined);
    const { signal } = (abort.current = new AbortController());
    const newVersion = localRun
      ? localRun.run(sql, signal)
      : (calculated
          ? api.runCalculation(conversation, { sql, replaces: result.id }, signal)
          : api.query(result.source!, { sql, conversation, replaces: result.id }, signal)
        ).then((a) => a.result.id ?? "");
    newVersion
      .then(
        (id) => {
          drafts.delete(key);
          if (id) onVersion(id.slice(id.lastIndexOf(".") + 1));
        },
        (err: unknown) => {
          if (signal.aborted) return setError({ words: "You stopped the query." });
          // Errors of the local DuckDB may contain values, but they stay in this browser.
          const words =
            localRun && !(err instanceof ApiError) && err instanceof Error ? err.message : errorMessage(err);
          const at = placeOf(words, sql);
          ed.current?.point(at);
          setError({ words, ...(at ? { at } : {}) });
        },
      )
      .finally(() => setBegan(undefined));
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

  const edit = changed ? outcome(busy, error !== undefined) : "";
  const put = (sql: string) => ed.current?.setText(sql);
  // An edited statement is compared with this version, an unedited one with the previous version.
  const before = changed ? result : earlier.at(-1);
  return (
    <div className="flex min-h-0 flex-1 flex-col">
      <Versions result={result} earlier={earlier} changed={edit} onVersion={onVersion} />
      <div className="flex min-h-40 flex-1 basis-0 flex-col overflow-hidden border-y bg-sunken focus-within:border-line-strong">
        {compared && before && <Changes before={before} text={text} />}
        <div ref={host} className={compared && before ? "hidden" : "min-h-0 flex-1"} />
      </div>
      {error && <Failure text={text} {...error} />}
      <div className="flex flex-wrap items-center gap-2 px-4 py-2">
        <RunButton
          began={began}
          local={localRun !== undefined}
          primary={changed}
          disabled={!text.trim() || !runnable}
          onRun={() => run.current()}
          onStop={() => abort.current?.abort()}
        />
        {before && (
          <Button
            look="quiet"
            aria-pressed={compared}
            onClick={() => setCompared(!compared)}
            className="aria-pressed:bg-hover"
          >
            Changes since version {before.version}
          </Button>
        )}
        {changed && (
          <Button look="quiet" onClick={() => put(original)}>
            Undo changes
          </Button>
        )}
        <span className="flex-1" />
        <IconButton icon="layout" small label="Format" onClick={() => put(format(ed.current?.text() ?? text, true))} />
        <Copy text={() => ed.current?.text() ?? text} />
      </div>
      <Hints
        result={result}
        localRun={localRun}
        runnable={runnable}
        cited={changed ? undefined : earlier[0]?.version}
      />
      <Preview conversation={conversation} result={result} edit={edit} />
    </div>
  );
}

/** Says what became of an edited statement. */
const outcome = (running: boolean, failed: boolean) =>
  running ? "running" : failed ? "the last run failed" : "not run yet";

interface RunButtonProps {
  began?: number;
  local: boolean;
  primary: boolean;
  disabled: boolean;
  onRun: () => void;
  onStop: () => void;
}

/** The button that runs the statement or, while it runs, stops it. */
function RunButton({ began, local, primary, disabled, onRun, onStop }: RunButtonProps) {
  if (began === undefined)
    return (
      <Button
        look={primary ? "primary" : "plain"}
        disabled={disabled}
        title={`Run (${mac ? "⌘" : "Ctrl"}+Enter)`}
        onClick={onRun}
      >
        Run
      </Button>
    );
  return (
    <>
      <Button icon="stop" onClick={onStop}>
        Stop
      </Button>
      <span className="text-xs text-ink-quiet">
        <Elapsed since={began} limit={local ? undefined : queryLimit()} />
      </span>
    </>
  );
}

/** Says where the statement runs, and which version the answer cites. */
function Hints({
  result,
  localRun,
  runnable,
  cited,
}: Pick<SqlPaneProps, "result" | "localRun"> & { runnable: boolean; cited?: number }) {
  return (
    <>
      {(localRun || !runnable) && <p className="px-4 pb-2 text-xs text-ink-quiet">{runLocation(result, localRun)}</p>}
      {cited !== undefined && <p className="px-4 pb-2 text-xs text-ink-quiet">The answer uses version {cited}.</p>}
    </>
  );
}

/** The error of a statement, with its position if the engine reports one. */
function Failure({ text, words, at }: { text: string; words: string; at?: { from: number; to: number } }) {
  const place = at && lineAndColumn(text, at.from);
  return (
    <div role="alert" className="flex items-start gap-2 border-b bg-bad-soft px-4 py-2 text-sm text-bad">
      <Icon name="alert" small className="mt-0.5" />
      <p className="min-w-0 flex-1 wrap-anywhere">
        {place && (
          <strong className="tabular font-semibold">
            Line {place.line}, column {place.column}:{" "}
          </strong>
        )}
        {words}
      </p>
    </div>
  );
}

/** Says where a statement runs if not on the server, or why it cannot run. */
/** The results of a conversation as tables, for completion. */
function resultsSchema(conversation: string): Schema {
  const all = Object.values(logOf(conversation).conversation().results);
  return {
    name: "results",
    tables: all.map((r) => ({
      name: r.id,
      columns: r.columns.map((c) => ({ name: c.name, type: c.kind ?? "" })),
    })),
  };
}

function runLocation(result: ShownResult, localRun: SqlPaneProps["localRun"]): string {
  if (localRun?.ready) return "The query runs in this browser, on your file. The rows stay here.";
  if (localRun) return "The query ran on a file that is not open in this browser. Open the file again to run it.";
  return result.sql
    ? "The query cannot run again because its source is unknown."
    : "This result was computed from earlier results, so there is no query to run.";
}

function Versions({
  result,
  earlier,
  changed,
  onVersion,
}: Pick<SqlPaneProps, "result" | "earlier" | "onVersion"> & { changed: string }) {
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
      {changed && <span className="px-1">changed, {changed}</span>}
      <span className="flex-1" />
      {result.millis !== undefined && <span className="tabular px-1">{duration(result.millis)}</span>}
    </div>
  );
}

const versionName = (v: ShownResult) =>
  `Version ${v.version}, by ${v.by === "user" ? youOrName(v.author) : "the assistant"}`;

function Changes({ before, text }: { before: ShownResult; text: string }) {
  const lines = diff(format(before.sql ?? ""), format(text));
  const sign = { same: " ", gone: "−", new: "+" };
  const word = { same: "", gone: "removed: ", new: "added: " };
  const look = { same: "", gone: "bg-bad-soft text-bad", new: "bg-good-soft text-good" };
  return (
    <div
      role="region"
      aria-label={`Changes since version ${before.version}`}
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
          () => {}, // not allowed by the browser; the text can be selected instead
        )
      }
    />
  );
}

/** The rows of the version. */
function Preview({ conversation, result, edit }: { conversation: string; result: ShownResult; edit: string }) {
  const { data, error } = useFirstRows({ conversation, id: result.id });
  const hidden = data ? hiddenRows(result.source, data) : 0;
  return (
    <section
      aria-label="Rows of this version"
      className={`flex min-h-36 flex-1 basis-0 flex-col border-t ${edit ? "bg-sunken" : ""}`}
    >
      {edit && (
        <p className="border-b px-4 py-1.5 text-xs text-ink-quiet">
          Rows of version {result.version}, without your changes: {edit}.
        </p>
      )}
      {error && (
        <p role="alert" className="p-4 text-sm text-bad">
          {error}
        </p>
      )}
      {data && hidden > 0 && <Hidden rows={hidden} of={data.row_count} />}
      {data && data.row_count === 0 && <p className="p-4 text-sm text-ink-quiet">No rows.</p>}
      {data && data.row_count - hidden > 0 && (
        <Grid
          source={{ conversation, id: result.id }}
          columns={data.columns}
          first={data.rows}
          count={data.row_count - hidden}
          truncated={data.truncated}
          label={`Rows of version ${result.version}`}
        />
      )}
    </section>
  );
}
