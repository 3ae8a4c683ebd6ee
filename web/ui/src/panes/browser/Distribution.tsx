// The distribution of a column's values: a few bars beside its name, and details when it is opened.
import { useEffect, useRef, useState } from "react";
import { api, type Distribution, type SchemaColumn } from "../../api/client";
import { useLoad } from "../../api/load";
import { count, plural } from "../../lib/format";
import type { Cell } from "../../log/events";
import { styleOf, formatCell, type Style } from "../numbers";

// The server reads a whole column for each distribution, so only a few are loaded at a time.
const maxParallel = 2;
let running = 0;
const waiting: (() => void)[] = [];

async function withLimit<T>(f: () => Promise<T>): Promise<T> {
  if (running >= maxParallel) await new Promise<void>((go) => waiting.push(go));
  running++;
  try {
    return await f();
  } finally {
    running--;
    waiting.shift()?.();
  }
}

export interface ColumnRef {
  source: string;
  table: string;
  column: SchemaColumn;
}

function useDistribution({ source, table, column }: ColumnRef, wanted: boolean) {
  return useLoad(wanted ? `distribution:${source}:${table}:${column.name}` : "", () =>
    withLimit(() => api.distribution(source, table, column.name)),
  );
}

interface Bin {
  label: string;
  count: number;
}

const maxBins = 60;

/** Returns the bars of a distribution. Ranges include the empty ones between them. */
function bins(d: Distribution, style: Style): Bin[] {
  const ranged = d.values.filter((v) => v.from !== undefined);
  if (ranged.length !== d.values.length || !ranged.length)
    return d.values.map((v) => ({ label: valueText(v.value ?? null, style), count: v.count }));
  const step = Number(ranged[0]!.to) - Number(ranged[0]!.from);
  const first = Number(ranged[0]!.from),
    last = Number(ranged.at(-1)!.to);
  const n = Math.round((last - first) / step);
  const label = (a: number, b: number) => `${formatCell(a, style)} to ${formatCell(b, style)}`;
  if (!(step > 0) || n > maxBins)
    return ranged.map((v) => ({ label: label(Number(v.from), Number(v.to)), count: v.count }));
  const out: Bin[] = Array.from({ length: n }, (_, i) => ({
    label: label(round(first + i * step), round(first + (i + 1) * step)),
    count: 0,
  }));
  for (const v of ranged)
    out[Math.min(n - 1, Math.max(0, Math.round((Number(v.from) - first) / step)))]!.count += v.count;
  return out;
}

const round = (x: number) => Number(x.toPrecision(12));

function valueText(v: Cell, style: Style): string {
  if (v === null) return "NULL";
  if (v === "") return "(empty)";
  return formatCell(v, style);
}

/** Reports whether the values are ranges or dates, which are drawn as upright bars in order. Others are drawn as
 *  shares. */
function isScale(d: Distribution): boolean {
  return (
    d.values.some((v) => v.from !== undefined) ||
    (d.values.length > 1 && d.values.every((v) => /^\d{4}(-\d{2})?(-\d{2})?$/.test(String(v.value))))
  );
}

const styleOfColumn = (c: SchemaColumn): Style => ({
  ...styleOf({ name: c.name, kind: c.kind ?? "" }, []),
  decimals: undefined,
});

/** A few bars, for the space beside the column's name. */
export function DistributionPreview({ of }: { of: ColumnRef }) {
  const ref = useRef<HTMLSpanElement>(null);
  const [seen, setSeen] = useState(false);
  useEffect(() => {
    const watch = new IntersectionObserver((e) => e.some((x) => x.isIntersecting) && setSeen(true));
    watch.observe(ref.current!);
    return () => watch.disconnect();
  }, []);
  const { data: d } = useDistribution(of, seen);
  return (
    <span ref={ref} className="flex h-6 w-24 shrink-0 items-end justify-end" aria-hidden="true">
      {d && <Bars d={d} style={styleOfColumn(of.column)} />}
    </span>
  );
}

function Bars({ d, style }: { d: Distribution; style: Style }) {
  if (!d.values.length) return <span className="text-xs text-ink-quiet">no values</span>;
  if (!isScale(d) && d.distinct !== undefined && d.distinct === d.rows - d.nulls && d.distinct > 20)
    return <span className="text-xs text-ink-quiet">all different</span>;
  if (isScale(d)) {
    const all = bins(d, style);
    const top = Math.max(...all.map((b) => b.count), 1);
    return (
      <span className="flex h-full w-full items-end gap-px">
        {all.map((b, i) => (
          <span
            key={i}
            className={`min-w-px flex-1 rounded-t-sm ${b.count ? "bg-accent" : "bg-line"}`}
            style={{ height: b.count ? `${Math.max(8, (b.count / top) * 100)}%` : "1%" }}
          />
        ))}
      </span>
    );
  }
  const rows = Math.max(1, d.rows);
  return (
    <span className="mb-1.5 flex h-2 w-full gap-px overflow-hidden rounded-full bg-hover">
      {d.values.slice(0, 6).map((v, i) => (
        <span
          key={i}
          className="series-part h-full"
          style={{ width: `${(v.count / rows) * 100}%`, background: `var(--series-${i + 1})` }}
        />
      ))}
    </span>
  );
}

/** All values with their counts, for the space below the column's name. */
export function DistributionDetails({ of }: { of: ColumnRef }) {
  const { data: d, error } = useDistribution(of, true);
  if (error) return <p className="text-sm text-bad">{error}</p>;
  if (!d) return <div className="h-32 rounded-md bg-hover" aria-hidden="true" />;
  const style = styleOfColumn(of.column);
  const all = bins(d, style);
  const top = Math.max(...all.map((b) => b.count), 1);
  const listed = all.reduce((sum, b) => sum + b.count, 0);
  const hasRange = of.column.kind !== "text"; // the minimum and maximum of texts are of no use
  const facts = [
    d.distinct !== undefined ? `${plural(d.distinct, "different value")}` : "",
    d.nulls ? `${plural(d.nulls, "NULL")} (${Math.round((d.nulls / Math.max(1, d.rows)) * 100)}%)` : "no NULLs",
    hasRange && d.min !== undefined && d.min !== null ? `from ${valueText(d.min, style)}` : "",
    hasRange && d.max !== undefined && d.max !== null ? `to ${valueText(d.max, style)}` : "",
    d.avg !== undefined && d.avg !== null ? `on average ${formatCell(d.avg, { ...style, grouped: true })}` : "",
  ].filter(Boolean);
  return (
    <div>
      <p className="tabular text-xs text-ink-quiet">{facts.join(" · ")}</p>
      <ol className="mt-2 space-y-1 text-xs" aria-label={`Values of ${d.column}`}>
        {all.map((b, i) => (
          <li key={i} className="grid grid-cols-[minmax(0,9rem)_1fr_auto] items-center gap-2">
            <span className="truncate text-right text-ink-soft" title={b.label}>
              {b.label}
            </span>
            <span className="h-3.5">
              {b.count > 0 && (
                <span
                  className="block h-full min-w-px rounded-r-sm bg-accent"
                  style={{ width: `${(b.count / top) * 100}%` }}
                />
              )}
            </span>
            <span className="tabular text-ink-quiet">{count(b.count)}</span>
          </li>
        ))}
      </ol>
      {listed < d.rows - d.nulls && (
        <p className="mt-1.5 text-xs text-ink-quiet">
          {plural(d.rows - d.nulls - listed, "more row")} with other values.
        </p>
      )}
    </div>
  );
}
