import { Suspense, useCallback, useState } from "react";
import type { Session } from "../api/client";
import { api } from "../api/client";
import { useLocalRows } from "../api/rows";
import { capital, originOf, plural, resultName } from "../lib/format";
import { useWide } from "../lib/media";
import { youOrName } from "../lib/me";
import { go, type Route, type View } from "../lib/router";
import type { ShownResult } from "../log/conversation";
import { useLog, type Log } from "../log/store";
import { IconButton } from "../ui/Button";
import { HomeLink } from "../ui/HomeLink";
import { Menu } from "../ui/Menu";
import { Tabs, type Tab } from "../ui/Tabs";
import { download, fileName, save } from "../lib/download";
import { lazyComponent, loadWithRetry } from "../lib/lazy";
import { Boundary } from "../ui/Boundary";
import { useLocalRun } from "../panes/files/rerun";
import type { SavePicture } from "../panes/slots";

const ChartPane = lazyComponent(() => import("../panes/chart/ChartPane"));
const TablePane = lazyComponent(() => import("../panes/table/TablePane"));
const SqlPane = lazyComponent(() => import("../panes/sql/SqlPane"));
const Trace = lazyComponent(() => import("../panes/trace/Trace"));
const DataBrowser = lazyComponent(() => import("../panes/browser/DataBrowser"));
const CoderPane = lazyComponent(() => import("../panes/coder/CoderPane"));

interface Props {
  log?: Log;
  result?: string;
  at: Route;
  session: Session;
  onClose: () => void;
}

/** The pane beside the thread: a result, the data, the trace or the files. */
export function RightPane({ log, result, at, session, onClose }: Props) {
  if (at.view === "data") {
    return (
      <Framed title="Data" onClose={onClose}>
        <DataBrowser at={at.at} onAt={(to) => go({ ...at, at: to }, "replace")} />
      </Framed>
    );
  }
  if (log && at.view === "trace") {
    return (
      <Framed title="Trace" onClose={onClose}>
        <Trace log={log} />
      </Framed>
    );
  }
  if (log && at.view === "files") {
    return (
      <Framed title="Files" onClose={onClose}>
        <CoderPane log={log} session={session} at={at.at} onAt={(to) => go({ ...at, at: to }, "replace")} />
      </Framed>
    );
  }
  if (!log) return null;
  return result ? <Result log={log} id={result} view={at.view} onClose={onClose} /> : <NoResult onClose={onClose} />;
}

/** The way home on a narrow screen, where the pane covers that of the page. */
const NarrowHome = () => !useWide() && <HomeLink short />;

/** The place of the first result. */
function NoResult({ onClose }: { onClose: () => void }) {
  return (
    <>
      <header className="flex h-(--header) shrink-0 items-center border-b px-2">
        <NarrowHome />
        <span className="flex-1" />
        <IconButton icon="close" label="Close the result" onClick={onClose} />
      </header>
      <p className="m-auto max-w-drawer p-6 text-center text-sm text-ink-quiet">
        The chart, table and SQL of an answer appear here.
      </p>
    </>
  );
}

function Framed({ title, onClose, children }: { title: string; onClose: () => void; children: React.ReactNode }) {
  return (
    <>
      <header className="flex h-(--header) shrink-0 items-center gap-1 border-b pr-2 pl-4 max-lg:pl-2">
        <NarrowHome />
        <h2 className="flex-1 text-sm font-semibold">{title}</h2>
        <IconButton icon="close" label={`Close ${title.toLowerCase()}`} onClick={onClose} />
      </header>
      <div className="flex min-h-0 flex-1 flex-col">
        <Boundary of={title}>
          <Suspense fallback={<Skeleton />}>{children}</Suspense>
        </Boundary>
      </div>
    </>
  );
}

type ResultView = Extract<View, "chart" | "table" | "sql">;

const tabs: readonly Tab<ResultView>[] = [
  { id: "chart", label: "Chart", icon: "chart" },
  { id: "table", label: "Table", icon: "table" },
  { id: "sql", label: "SQL", icon: "code" },
];

function Result({ log, id, view, onClose }: { log: Log; id: string; view?: View; onClose: () => void }) {
  const r = useLog(log, (c) => c.results[id]);
  const [picture, setPicture] = useState<SavePicture>();
  const localRun = useLocalRun(log.id, r);
  const keepPicture = useCallback((save: SavePicture | undefined) => setPicture(() => save), []);
  // If the model chose a table instead of a chart, show the table first.
  const first: ResultView = r?.chart?.type === "table" ? "table" : "chart";
  const now: ResultView = view === "table" || view === "sql" || view === "chart" ? view : first;
  const show = (v: ResultView) =>
    go({ conversation: log.id, result: id, view: v === first ? undefined : v }, "replace");
  return (
    <>
      <header className="flex h-(--header) shrink-0 items-center gap-1 border-b pr-2 pl-3 max-lg:pl-2">
        <NarrowHome />
        <Tabs name="result" label="Views of the result" tabs={tabs} now={now} onChange={show} />
        <span className="flex-1" />
        {r && <Downloads log={log} r={r} picture={now === "chart" ? picture : undefined} />}
        <IconButton icon="close" label="Close the result" onClick={onClose} />
      </header>
      {r ? (
        <>
          <Caption log={log} r={r} />
          <div
            role="tabpanel"
            id="result-panel"
            aria-labelledby={`result-${now}`}
            tabIndex={-1}
            className="flex min-h-0 flex-1 flex-col"
          >
            <Boundary of={`${id} ${now}`}>
              <Suspense fallback={<Skeleton />}>
                {now === "chart" && (
                  <ChartPane conversation={log.id} result={r} spec={r.chart} onPicture={keepPicture} />
                )}
                {now === "table" && <TablePane key={id} conversation={log.id} result={r} />}
                {now === "sql" && (
                  <SqlPane
                    key={id}
                    conversation={log.id}
                    result={r}
                    localRun={localRun}
                    earlier={versionsOf(log, r)}
                    onVersion={(v) => go({ conversation: log.id, result: v, view: "sql" })}
                  />
                )}
              </Suspense>
            </Boundary>
          </div>
        </>
      ) : (
        <p className="p-6 text-sm text-ink-quiet">This conversation has no {resultName(id)}.</p>
      )}
    </>
  );
}

function Skeleton() {
  return <div className="m-4 h-64 rounded-md bg-sunken" aria-hidden="true" />;
}

/** Loads the chart pane ahead of time, because most answers need it. */
export function preloadResult(): void {
  ChartPane.preload();
}

/** Returns the earlier versions of a result, oldest first. */
function versionsOf(log: Log, r: ShownResult): ShownResult[] {
  const all = log.conversation().results;
  const out: ShownResult[] = [];
  for (let p = r.replaces ? all[r.replaces] : undefined; p; p = p.replaces ? all[p.replaces] : undefined)
    out.unshift(p);
  return out;
}

function Caption({ log, r }: { log: Log; r: ShownResult }) {
  const replaced = r.replacedBy;
  const question = useLog(log, (c) => c.turns.find((t) => t.seq === r.turn)?.text);
  return (
    <div className="flex shrink-0 flex-wrap items-baseline gap-x-3 px-4 pt-3">
      <h2 className="min-w-0 truncate font-serif text-lg font-semibold">
        {r.chart?.title || question || capital(resultName(r.id))}
      </h2>
      <p className="tabular text-xs text-ink-quiet">
        {[
          originOf(r),
          plural(r.row_count, "row") + (r.truncated && r.source !== "client" ? ", cut" : ""),
          r.version > 1 ? `version ${r.version}, by ${youOrName(r.author)}` : "",
        ]
          .filter(Boolean)
          .join(" · ")}
      </p>
      {replaced && (
        <button
          type="button"
          className="rounded-sm text-xs text-accent underline underline-offset-2"
          onClick={() => go({ conversation: log.id, result: replaced })}
        >
          Show the newer version
        </button>
      )}
    </div>
  );
}

const formats = { xlsx: "Excel (XLSX)", csv: "CSV", json: "JSON", parquet: "Parquet", arrow: "Arrow" } as const;
type Format = keyof typeof formats;

/** The files that can hold any number of rows, because they are written as the rows come. */
const longFormats = { csv: "CSV", jsonl: "JSON lines", parquet: "Parquet", arrow: "Arrow", xlsx: "Excel (XLSX)" };

/** The menu of files: the rows, and the chart if one is shown. */
function Downloads({ log, r, picture }: { log: Log; r: ShownResult; picture?: SavePicture }) {
  const ref = { conversation: log.id, id: r.id };
  const rows = useLocalRows(ref);
  const question = useLog(log, (c) => c.turns.find((t) => t.seq === r.turn)?.text);
  const [failed, setFailed] = useState("");
  const title = r.chart?.title || question || resultName(r.id);
  const [notice, setNotice] = useState("");
  const explain = (f: Format, formulas: number) =>
    setNotice(
      formulas && (f === "csv" || f === "xlsx")
        ? `${plural(formulas, "cell")} in the file ${formulas === 1 ? "looks" : "look"} like a formula and got an apostrophe.`
        : "",
    );
  const fetchFile = (f: Format) => {
    const url = api.resultUrl(log.id, r.id, f);
    setFailed("");
    setNotice("");
    download(url, title);
    if (f === "csv" || f === "xlsx")
      api.formulas(url).then(
        (n) => explain(f, n),
        () => {},
      ); // the download says why
  };
  const write = async (f: Exclude<Format, "arrow" | "parquet">) => {
    setFailed("");
    setNotice("");
    try {
      const make = await loadWithRetry(() => import("../lib/export"));
      save(await make[f](rows!), fileName(title, f));
      explain(f, make.formulas(rows!));
    } catch {
      setFailed("The file could not be written. Reload the page and try again.");
    }
  };
  // Rows that are only in this browser are saved here and never sent to the server.
  const local = r.source === "client";
  const part = rows && rows.rows.length < r.row_count ? `The first ${plural(rows.rows.length, "row")}` : undefined;
  const items = (Object.keys(formats) as Format[]).map((f) => ({
    label: formats[f],
    hint: part,
    disabled: !local
      ? undefined
      : !rows
        ? "The rows are in a file that is not open in this browser."
        : f === "arrow"
          ? "Arrow is available only for results from the server."
          : undefined,
    onSelect: () => (rows && f !== "arrow" && f !== "parquet" ? void write(f) : fetchFile(f)),
  }));
  const cut = r.truncated && r.source && !local && !r.parents?.length;
  const all = Object.entries(longFormats).map(([f, label]) => ({
    label,
    onSelect: () => {
      setFailed("");
      setNotice("The statement runs again. The file ends with a note if its rows are not those of the answer.");
      download(api.allRowsUrl(log.id, r.id, f), title);
    },
  }));
  return (
    <>
      {failed && (
        <span role="alert" className="truncate text-xs text-bad">
          {failed}
        </span>
      )}
      {notice && (
        <span role="status" className="truncate text-xs text-ink-quiet" title={notice}>
          {notice}
        </span>
      )}
      <Menu
        label="Download"
        align="end"
        groups={[
          { title: cut ? `The first ${plural(r.row_count, "row")}` : "Rows", items },
          ...(cut ? [{ title: "All rows", items: all }] : []),
          ...(picture
            ? [
                {
                  title: "Chart",
                  items: [
                    { label: "Image (PNG)", onSelect: () => void picture("png") },
                    { label: "Vector image (SVG)", onSelect: () => void picture("svg") },
                  ],
                },
              ]
            : []),
        ]}
        button={(p) => <IconButton icon="download" label="Download" {...p} />}
      />
    </>
  );
}
