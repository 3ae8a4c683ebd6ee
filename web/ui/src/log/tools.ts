// How calls of a tool are shown. The log records with each call the label and family that its tool has. Only for older
// logs, which record neither, and for a call that is still being written, they come from the tools that the assistants
// have now: another assistant may have another tool of that name.
import { useSyncExternalStore } from "react";
import type { Assistant } from "../api/client";
import type { CalledTool } from "./events";

/** The families that this app shows in a way of their own. The server lists them in tool/tool.go. */
export type Family =
  | "question"
  | "query"
  | "column_stats"
  | "column_values"
  | "transform"
  | "chart"
  | "answer"
  | "file_read"
  | "file_write"
  | "file_edit"
  | "file_list"
  | "file_search"
  | "command"
  | "drawing"
  | "chart_view";

interface Called {
  name: string;
  tool?: CalledTool;
}

const current = new Map<string, CalledTool>();
const listeners = new Set<() => void>();

/** Keeps what the assistants' tools say about themselves. */
export function learnTools(assistants: readonly Pick<Assistant, "tools">[]): void {
  for (const t of assistants.flatMap((a) => a.tools ?? [])) current.set(t.name, t);
  for (const f of listeners) f();
}

function subscribe(f: () => void): () => void {
  listeners.add(f);
  return () => listeners.delete(f);
}

/** Draws the component again when the tools are known. */
export const useTools = (): number => useSyncExternalStore(subscribe, () => current.size);

const described = (c: Called): CalledTool | undefined => c.tool ?? current.get(c.name);

/** What a call does, in words: "Running a query". */
export const labelOf = (c: Called): string => described(c)?.label ?? `Using ${c.name.replaceAll("_", " ")}`;

/** The family of a call's tool, if it is known. */
export const familyOf = (c: Called): Family | undefined => described(c)?.family as Family | undefined;

/** Whether a call works with the files of a workspace. */
export function onFiles(c: Called): boolean {
  const family = familyOf(c);
  return family === "command" || family?.startsWith("file_") === true;
}

/** A string within the input of a call. */
export function field(input: unknown, name: string): string {
  const v = (input as Record<string, unknown> | null)?.[name];
  return typeof v === "string" ? v : "";
}
