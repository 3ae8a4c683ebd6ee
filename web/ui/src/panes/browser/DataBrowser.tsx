// The data browser: sources, their tables, and the columns with their values.
import { useState } from "react";
import { api, type SchemaColumn, type SchemaTable, type Source } from "../../api/client";
import { useLoad } from "../../api/load";
import { nameTable } from "../../composer/mentions";
import { count, plural } from "../../lib/format";
import { useWide } from "../../lib/media";
import { go, route } from "../../lib/router";
import { Button } from "../../ui/Button";
import { Icon } from "../../ui/Icon";
import { Rows } from "../Rows";
import type { DataBrowserProps } from "../slots";
import { UploadMenu } from "./UploadMenu";
import { DistributionPreview, DistributionDetails } from "./Distribution";

/** Says how well a source is known to be read-only. */
const readOnly = (proof: Source["proof"]) =>
  proof && `read-only: ${proof.strength}, tested on ${proof.tested_on === "real" ? "the real engine" : "an imitation"}`;

/** `at` is the open table: "source.table". */
export default function DataBrowser({ at, onAt }: DataBrowserProps) {
  const { data, error } = useLoad("sources", api.sources);
  const [find, setFind] = useState("");
  return (
    <div className="scroll min-h-0 flex-1 px-4 pb-6">
      <div className="sticky top-0 z-10 bg-surface pt-3 pb-3">
        <label className="flex h-9 items-center gap-2 rounded-md border px-3 focus-within:border-line-strong">
          <Icon name="search" small className="text-ink-quiet" />
          <input
            type="search"
            aria-label="Find a table or column"
            placeholder="Find a table or column"
            value={find}
            onChange={(e) => setFind(e.target.value)}
            className="min-w-0 flex-1 bg-transparent text-sm outline-none"
          />
        </label>
      </div>
      {error && (
        <p role="alert" className="text-sm text-bad">
          {error}
        </p>
      )}
      {data?.sources.length === 0 && (
        <p className="text-sm text-ink-quiet">No data yet. Add a file here, or a source in the server's settings.</p>
      )}
      {data?.sources.map((s) => (
        <section key={s.name} aria-label={s.name} className="mb-6">
          <div className="flex flex-wrap items-center gap-x-2 gap-y-1 text-sm">
            <Icon name="database" small />
            <h3 className="font-semibold">{s.name}</h3>
            {s.uploaded && <UploadMenu source={s.name} />}
            <span className="tabular w-full text-ink-quiet">
              {[
                s.engine,
                plural(s.tables, "table"),
                s.rows !== undefined ? plural(s.rows, "row") : "",
                readOnly(s.proof),
              ]
                .filter(Boolean)
                .join(" · ")}
            </span>
          </div>
          {s.ok ? (
            <Tables source={s.name} at={at} onAt={onAt} find={find.trim().toLowerCase()} />
          ) : (
            <p className="mt-1 text-sm text-bad">{s.error}</p>
          )}
        </section>
      ))}
    </div>
  );
}

function Tables({ source, at, onAt, find }: DataBrowserProps & { source: string; find: string }) {
  const { data, error } = useLoad(`schema:${source}`, () => api.schema(source));
  if (error) return <p className="mt-1 text-sm text-bad">{error}</p>;
  const some = data?.tables.filter(
    (t) => !find || t.name.toLowerCase().includes(find) || t.columns.some((c) => c.name.toLowerCase().includes(find)),
  );
  if (data && some?.length === 0)
    return (
      <p className="mt-1 text-sm text-ink-quiet">
        {find ? "No table or column matches." : "This source has no tables."}
      </p>
    );
  return (
    <ul className="mt-2 space-y-1.5">
      {some?.map((t) => {
        const name = `${source}.${t.name}`;
        const open = at === name;
        return (
          <li key={t.name} className={`rounded-md border ${open ? "border-line-strong" : ""}`}>
            <button
              type="button"
              aria-expanded={open}
              onClick={() => onAt(open ? undefined : name)}
              className="flex w-full items-center gap-2 rounded-md px-3 py-2 text-left text-sm hover:bg-hover"
            >
              <Icon name="chevron" small className={`text-ink-quiet transition-transform ${open ? "rotate-90" : ""}`} />
              <span className="min-w-0 truncate font-medium">{t.name}</span>
              {t.view && <span className="text-xs text-ink-quiet">view</span>}
              <span className="min-w-0 flex-1 truncate text-xs text-ink-quiet">
                {!open && (t.comment || t.columns.map((c) => c.name).join(", "))}
              </span>
              {t.rows !== undefined && (
                <span className="tabular shrink-0 text-xs text-ink-quiet">{plural(t.rows, "row")}</span>
              )}
            </button>
            {open && <Table source={source} table={t} tables={data!.tables} onAt={onAt} find={find} />}
          </li>
        );
      })}
    </ul>
  );
}

/** Larger tables show no distributions beside their columns, because computing one reads the whole column. */
const maxPreviewRows = 2_000_000;

function Table({
  source,
  table,
  tables,
  onAt,
  find,
}: {
  source: string;
  table: SchemaTable;
  tables: SchemaTable[];
  onAt: DataBrowserProps["onAt"];
  find: string;
}) {
  const [samples, setSamples] = useState(false);
  const [column, setColumn] = useState<string>();
  const wide = useWide();
  const referrers = tables.filter((t) => t.columns.some((c) => c.references?.table === table.name));
  const ask = () => {
    if (!wide) go({ ...route(), view: undefined, at: undefined });
    // On a narrow screen the pane covers the question field until the next frame.
    requestAnimationFrame(() => nameTable({ source, table: table.name }));
  };
  return (
    <div className="border-t px-3 pt-2 pb-3 text-sm">
      {table.comment && <p className="mb-2 text-ink-soft">{table.comment}</p>}
      <div className="mb-1 flex flex-wrap items-center gap-2">
        <Button icon="plus" className="!h-8" onClick={ask}>
          Ask about it
        </Button>
        <Button look="quiet" icon="table" className="!h-8" aria-expanded={samples} onClick={() => setSamples(!samples)}>
          Sample rows
        </Button>
      </div>
      {samples && <Samples source={source} table={table.name} />}
      <ul className="divide-y">
        {table.columns.map((c) => {
          const open = column === c.name;
          const of = { source, table: table.name, column: c };
          return (
            <li key={c.name} className={find && c.name.toLowerCase().includes(find) ? "bg-mark" : ""}>
              <button
                type="button"
                aria-expanded={open}
                onClick={() => setColumn(open ? undefined : c.name)}
                className="flex min-h-10 w-full items-center gap-3 rounded-sm px-1 py-1 text-left hover:bg-hover"
              >
                <span className="min-w-0 flex-1">
                  <span className="flex items-center gap-1.5 truncate">
                    {c.name}
                    {c.key && <Icon name="key" small className="text-ink-quiet" />}
                  </span>
                  <span className="block truncate text-xs text-ink-quiet">{c.comment || about(c)}</span>
                </span>
                {(table.rows ?? 0) < maxPreviewRows && !c.key && <DistributionPreview of={of} />}
              </button>
              {open && (
                <div className="px-1 pt-1 pb-3">
                  <DistributionDetails of={of} />
                  {c.references && (
                    <button
                      type="button"
                      onClick={() => onAt(`${source}.${c.references!.table}`)}
                      className="mt-2 inline-flex items-center gap-1 rounded-sm text-xs text-accent underline underline-offset-2"
                    >
                      <Icon name="link" small />
                      refers to {c.references.table}
                      {c.references.column ? `.${c.references.column}` : ""}
                    </button>
                  )}
                </div>
              )}
            </li>
          );
        })}
      </ul>
      {referrers.length > 0 && (
        <p className="mt-2 flex flex-wrap gap-x-2 text-xs text-ink-quiet">
          Referenced by
          {referrers.map((t) => (
            <button
              key={t.name}
              type="button"
              onClick={() => onAt(`${source}.${t.name}`)}
              className="rounded-sm text-accent underline underline-offset-2"
            >
              {t.name}
            </button>
          ))}
        </p>
      )}
    </div>
  );
}

function about(c: SchemaColumn): string {
  const words = [c.type.toLowerCase()];
  if (c.key) words.push("key");
  if (c.references) words.push(`refers to ${c.references.table}`);
  if (c.nullable === false && !c.key) words.push("required");
  return words.join(", ");
}

function Samples({ source, table }: { source: string; table: string }) {
  const { data, error } = useLoad(`samples:${source}:${table}`, () => api.samples(source, table, 20));
  if (error) return <p className="text-sm text-bad">{error}</p>;
  return (
    <div
      className="my-2 max-h-72 min-h-40 overflow-auto rounded-md border bg-surface"
      tabIndex={0}
      role="region"
      aria-label={`Sample rows of ${table}`}
    >
      {data && <Rows columns={data.columns} rows={data.rows} label={`Sample rows of ${table}`} />}
      {data?.rows.length === 0 && <p className="p-3 text-sm text-ink-quiet">The table is empty.</p>}
      {data && data.rows.length > 0 && (
        <p className="px-2 py-1 text-xs text-ink-quiet">The first {count(data.rows.length)} rows.</p>
      )}
    </div>
  );
}
