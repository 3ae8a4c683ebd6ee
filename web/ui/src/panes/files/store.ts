// The files that are open in this browser. Small, because the first page needs it; the
// engine comes with the first file.
import { useSyncExternalStore } from "react";
import type { TableName } from "../../composer/mentions";
import { patiently } from "../../lib/later";
import type { Whole } from "./cells";
import { forgetFile, keepFile, keptFiles } from "./keep";
import type { Engine, LocalTable } from "./engine";

export interface LocalFile {
  id: string;
  name: string;
  size: number;
  state: "loading" | "ready" | "failed";
  tables: readonly LocalTable[];
  error?: string;
}

interface Local {
  files: readonly LocalFile[];
  keep: boolean; // a copy in this browser, for after a reload
}

interface Opened {
  id: string;
  file: File;
}

/** The names of files that can be opened here. */
export const readable = /\.(csv|tsv|txt|parquet|json|jsonl|ndjson|xlsx)$/i;

const at = "footnote-local";
let now: Local = { files: [], ...settings() };
let opened: Opened[] = [];
let engine: Promise<Engine> | undefined;
let restored: Promise<void> | undefined;
const listeners = new Set<() => void>();

function settings(): { keep: boolean } {
  let kept: { keep?: boolean } = {};
  try {
    kept = JSON.parse(localStorage.getItem(at) ?? "{}") as typeof kept;
  } catch {
    // No storage, or not ours: the defaults.
  }
  return { keep: kept.keep !== false };
}

function set(change: Partial<Local>): void {
  now = { ...now, ...change };
  for (const f of listeners) f();
}

function remember(): void {
  try {
    localStorage.setItem(at, JSON.stringify({ keep: now.keep }));
  } catch {
    // It holds for this page only, then.
  }
}

const subscribe = (f: () => void) => {
  listeners.add(f);
  return () => listeners.delete(f);
};

export const local = (): Local => now;
export const useLocal = (): Local => useSyncExternalStore(subscribe, local);

/** Whether copies of the files stay in this browser. Switched off, they are deleted. */
export async function setKeep(keep: boolean): Promise<void> {
  set({ keep });
  remember();
  await Promise.all(opened.map((o) => (keep ? keepFile(o.id, o.file) : forgetFile(o.id))));
}

/** Opens what was kept when the page was last open. */
export function restore(): Promise<void> {
  restored ??= keptFiles().then((kept) => {
    if (kept.length) begin([...kept.filter((k) => !opened.some((o) => o.id === k.id)), ...opened]);
  });
  return restored;
}

export async function addFiles(files: readonly File[]): Promise<void> {
  await restore();
  const more = files.map((file) => ({ id: crypto.randomUUID(), file }));
  // A file that is picked again takes the place of its older self.
  const stay = opened.filter((o) => !files.some((f) => f.name === o.file.name));
  const gone = opened.filter((o) => !stay.includes(o));
  if (now.keep) await Promise.all(more.map((o) => keepFile(o.id, o.file)));
  await Promise.all(gone.map((o) => forgetFile(o.id)));
  begin([...stay, ...more]);
  await engine?.catch(() => {});
}

export async function removeFile(id: string): Promise<void> {
  await forgetFile(id);
  begin(opened.filter((o) => o.id !== id));
}

/** Loads a set of files into an engine of their own. */
function begin(files: Opened[]): void {
  void engine?.then((e) => e.end()).catch(() => {});
  opened = files;
  engine = undefined;
  set({ files: files.map((o) => ({ id: o.id, name: o.file.name, size: o.file.size, state: "loading", tables: [] })) });
  if (files.length) void started().catch(() => {});
}

/** The engine with all files; a new one when the last has ended. */
async function started(): Promise<Engine> {
  const running = await engine?.catch(() => undefined);
  if (running && !running.ended) return running;
  if (!opened.length) throw new Error("No file is open in this browser.");
  const files = opened;
  const mine = patiently(() => import("./engine")).then((m) => m.Engine.start(files.map((o) => o.file)));
  engine = mine;
  try {
    const e = await mine;
    if (opened === files) set({ files: files.map((o) => shown(o, e)) });
    return e;
  } catch (err) {
    const error = err instanceof Error ? err.message : "DuckDB could not be started.";
    if (opened === files)
      set({
        files: files.map((o) => ({
          id: o.id,
          name: o.file.name,
          size: o.file.size,
          state: "failed",
          tables: [],
          error,
        })),
      });
    throw err;
  }
}

function shown({ id, file }: Opened, e: Engine): LocalFile {
  const error = e.failures.get(file);
  return {
    id,
    name: file.name,
    size: file.size,
    state: error ? "failed" : "ready",
    tables: e.tables.get(file) ?? [],
    error,
  };
}

export async function query(sql: string, signal: AbortSignal): Promise<Whole> {
  await restore();
  return (await started()).query(sql, signal);
}

/** Why no question can be asked yet: the names that would go with it are not known. */
export function opening(files: readonly LocalFile[]): string | undefined {
  return files.some((f) => f.state === "loading") ? "a file is being opened" : undefined;
}

/** The tables as they can be named in a question. */
export function named(files: readonly LocalFile[]): readonly TableName[] {
  return files.flatMap((f) => f.tables.map((t) => ({ source: f.name, table: t.name, here: true })));
}

/** All tables, once they are loaded. */
export async function tables(): Promise<LocalTable[]> {
  await restore();
  if (!opened.length) return [];
  await started();
  return now.files.flatMap((f) => f.tables);
}

/** The schema as a model reads it: names and types, never a value. The server reads
 *  the same text (internal/localschema). */
export function schemaText(files: readonly LocalFile[]): string {
  const all = files.flatMap((f) => f.tables);
  const lines = all.map((t) => {
    const columns = t.columns.map((c) => `\n  "${c.name.replaceAll('"', '""')}" ${c.type}`).join(",");
    return `\nCREATE TABLE "${t.name.replaceAll('"', '""')}" ( -- ${t.rows} rows${columns}\n);`;
  });
  return `The user's files are these DuckDB tables (names and types; the rows stay in the browser):${lines.join("")}`;
}
