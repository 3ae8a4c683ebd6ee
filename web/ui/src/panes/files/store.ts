// The files that are open in this browser. This file is part of the first load, so it is small; the engine is loaded
// with the first file.
import { useSyncExternalStore } from "react";
import type { TableName } from "../../composer/mentions";
import { loadWithRetry } from "../../lib/lazy";
import type { LocalResult } from "./cells";
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
  restored: boolean; // whether the files that were kept are among them
  keep: boolean; // whether copies stay in this browser for after a reload
}

interface Opened {
  id: string;
  file: File;
}

/** Matches the names of files that can be opened in the browser. */
export const readable = /\.(csv|tsv|txt|parquet|json|jsonl|ndjson|xlsx)$/i;

const storageKey = "footnote-local";
let now: Local = { files: [], restored: false, ...settings() };
let opened: Opened[] = [];
let engine: Promise<Engine> | undefined;
let restored: Promise<void> | undefined;
const listeners = new Set<() => void>();

function settings(): { keep: boolean } {
  let kept: { keep?: boolean } = {};
  try {
    kept = JSON.parse(localStorage.getItem(storageKey) ?? "{}") as typeof kept;
  } catch {
    // Storage is disabled, or the value is invalid: use the defaults.
  }
  return { keep: kept.keep !== false };
}

function set(change: Partial<Local>): void {
  now = { ...now, ...change };
  for (const f of listeners) f();
}

function remember(): void {
  try {
    localStorage.setItem(storageKey, JSON.stringify({ keep: now.keep }));
  } catch {
    // Storage is disabled: the setting lasts until the page is reloaded.
  }
}

const subscribe = (f: () => void) => {
  listeners.add(f);
  return () => listeners.delete(f);
};

export const local = (): Local => now;
export const useLocal = (): Local => useSyncExternalStore(subscribe, local);

/** Sets whether copies of the files stay in this browser. Switching it off deletes them. */
export async function setKeep(keep: boolean): Promise<void> {
  set({ keep });
  remember();
  await Promise.all(opened.map((o) => (keep ? keepFile(o.id, o.file) : forgetFile(o.id))));
}

/** Opens the files that were kept. */
export function restore(): Promise<void> {
  restored ??= keptFiles().then((kept) => {
    if (kept.length) openFiles([...kept.filter((k) => !opened.some((o) => o.id === k.id)), ...opened]);
    set({ restored: true });
  });
  return restored;
}

export async function addFiles(files: readonly File[]): Promise<void> {
  await restore();
  const more = files.map((file) => ({ id: crypto.randomUUID(), file }));
  // A file replaces an open file of the same name.
  const stay = opened.filter((o) => !files.some((f) => f.name === o.file.name));
  const gone = opened.filter((o) => !stay.includes(o));
  if (now.keep) await Promise.all(more.map((o) => keepFile(o.id, o.file)));
  await Promise.all(gone.map((o) => forgetFile(o.id)));
  openFiles([...stay, ...more]);
  await engine?.catch(() => {});
}

export async function removeFile(id: string): Promise<void> {
  await forgetFile(id);
  openFiles(opened.filter((o) => o.id !== id));
}

/** Replaces the open files, and starts a new engine with them. */
function openFiles(files: Opened[]): void {
  void engine?.then((e) => e.end()).catch(() => {});
  opened = files;
  engine = undefined;
  set({ files: files.map((o) => ({ id: o.id, name: o.file.name, size: o.file.size, state: "loading", tables: [] })) });
  if (files.length) void startedEngine().catch(() => {});
}

/** Returns the engine with all files, and starts a new one if the last has ended. */
async function startedEngine(): Promise<Engine> {
  const running = await engine?.catch(() => undefined);
  if (running && !running.ended) return running;
  if (!opened.length) throw new Error("No file is open in this browser.");
  const files = opened;
  const mine = loadWithRetry(() => import("./engine")).then((m) => m.Engine.start(files.map((o) => o.file)));
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

export async function query(sql: string, signal: AbortSignal): Promise<LocalResult> {
  await restore();
  return (await startedEngine()).query(sql, signal);
}

/** Returns why no question can be asked yet: a file is being opened, so its schema is unknown. */
export function openingReason(files: readonly LocalFile[]): string | undefined {
  return files.some((f) => f.state === "loading") ? "a file is still opening" : undefined;
}

/** Returns the tables that can be mentioned in a question. */
export function mentionableTables(files: readonly LocalFile[]): readonly TableName[] {
  return files.flatMap((f) => f.tables.map((t) => ({ source: f.name, table: t.name, here: true })));
}

/** Waits until the files are loaded and returns all tables. */
export async function tables(): Promise<LocalTable[]> {
  await restore();
  if (!opened.length) return [];
  await startedEngine();
  return now.files.flatMap((f) => f.tables);
}

/** Describes the schema for the model: names and types, never values. The server parses this text
 *  (internal/localschema). */
export function schemaText(files: readonly LocalFile[]): string {
  const all = files.flatMap((f) => f.tables);
  const lines = all.map((t) => {
    const columns = t.columns.map((c) => `\n  "${c.name.replaceAll('"', '""')}" ${c.type}`).join(",");
    return `\nCREATE TABLE "${t.name.replaceAll('"', '""')}" ( -- ${t.rows} rows${columns}\n);`;
  });
  return `The user's files are these DuckDB tables (names and types; the rows stay in the browser):${lines.join("")}`;
}
