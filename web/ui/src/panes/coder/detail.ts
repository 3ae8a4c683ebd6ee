// The details that the results of workspace tools have for the page. The server's types are in tool/workspace
// (fileDetail, commandDetail, listDetail).
import type { ToolPart } from "../../log/conversation";
import { field, type Family } from "../../log/tools";
import { fromServer, parse, type Hunk, type ServerHunk } from "./diff";

export interface FileDetail {
  kind: "file" | "read";
  path: string;
  op?: "create" | "write" | "delete";
  before?: string;
  after?: string;
  size: number;
  added: number;
  removed: number;
  diff?: string;
  hunks?: ServerHunk[];
}

export interface CommandDetail {
  kind: "command";
  command: string;
  description?: string;
  output: string;
  exit: number;
  ended?: string;
  ms: number;
  changes?: FileDetail[];
  more_changes?: number;
}

export interface ListDetail {
  kind: "files";
  files: { path: string; size: number; time: string }[] | null;
}

type Detail = FileDetail | CommandDetail | ListDetail;

const kinds = new Set(["file", "read", "command", "files"]);

/** Returns the detail of a call if its kind is known. */
export function detailOf(part: ToolPart): Detail | undefined {
  const d = part.detail as { kind?: unknown } | null | undefined;
  return d && typeof d === "object" && kinds.has(d.kind as string) ? (d as Detail) : undefined;
}

/** Returns the hunks of a change to a file. `cut` is set if the diff was too long to be stored. */
export function hunksOf(f: { hunks?: ServerHunk[]; diff?: string }): { hunks: Hunk[]; cut: boolean } {
  if (f.hunks?.length) return { hunks: fromServer(f.hunks), cut: false };
  return parse(f.diff ?? "");
}

/** Why a command was ended before it exited. */
export const endings: Record<string, string> = {
  time: "stopped: it took too long",
  memory: "stopped: it used too much memory",
  processes: "stopped: it started too many processes",
  disk: "stopped: the workspace is full",
  output: "stopped: it printed too much",
};

/** Returns a path relative to the workspace. */
export const relative = (path: string): string => path.replace(/^\/workspace\/?/, "").replace(/^\.\//, "");

/** Summarises the input of a call in one line. */
export function subject(family: Family | undefined, input: unknown): string {
  switch (family) {
    case "file_read":
    case "file_write":
    case "file_edit":
      return relative(field(input, "file_path"));
    case "command":
      return field(input, "command").split("\n", 1)[0] ?? "";
    case "file_list":
    case "file_search":
      return [field(input, "pattern"), relative(field(input, "path"))].filter(Boolean).join(" in ");
    default:
      return "";
  }
}

/** Summarises the result of a call in a few words. */
export function outcome(part: ToolPart): string[] {
  const d = detailOf(part);
  switch (d?.kind) {
    case "file":
      return d.op ? [d.op === "create" ? "new" : "", `+${d.added} −${d.removed}`].filter(Boolean) : ["unchanged"];
    case "command":
      return [d.ended ? (endings[d.ended] ?? "ended") : d.exit ? `exit ${d.exit}` : ""].filter(Boolean);
    case "files":
      return [`${d.files?.length ?? 0} found`];
    default:
      return [];
  }
}
