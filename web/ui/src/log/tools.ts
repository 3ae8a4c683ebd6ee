// How to show calls. The log records the label and family of the tool with each call. For older logs, which lack both,
// and for a call that the model is still writing, they come from the assistants' current tools. The log comes first,
// because two assistants may have different tools of the same name.
import { useSyncExternalStore } from "react";
import type { CalledTool } from "./events";

/** The families that this app can show. The server lists them in tool/tool.go. */
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

/** Stores the labels and families of the assistants' tools. */
export function learnTools(assistants: readonly { tools?: ({ name: string } & CalledTool)[] }[]): void {
  for (const t of assistants.flatMap((a) => a.tools ?? [])) current.set(t.name, t);
  for (const f of listeners) f();
}

function subscribe(f: () => void): () => void {
  listeners.add(f);
  return () => listeners.delete(f);
}

/** Renders the component again when tools are added. */
export const useTools = (): number => useSyncExternalStore(subscribe, () => current.size);

const described = (c: Called): CalledTool | undefined => c.tool ?? current.get(c.name);

/** Describes a call for people: "Running a query". */
export const labelOf = (c: Called): string => described(c)?.label ?? `Using ${c.name.replaceAll("_", " ")}`;

/** Returns the family of a call's tool. Undefined if it has none or it is unknown. */
export const familyOf = (c: Called): Family | undefined => described(c)?.family as Family | undefined;

/** Reports whether a call works with the files of a workspace. */
export function onFiles(c: Called): boolean {
  const family = familyOf(c);
  return family === "command" || family?.startsWith("file_") === true;
}

/** Returns a string from the input of a call, or "" if there is none. */
export function field(input: unknown, name: string): string {
  const v = (input as Record<string, unknown> | null)?.[name];
  return typeof v === "string" ? v : "";
}
