// Summarises the changes of a workspace by file.
import type { WorkspaceChange } from "../../api/client";
import { familyOf } from "../../log/tools";
import { counts, parse } from "./diff";

/** A file that the conversation changed, with the sum of its changes. */
export interface ChangedFile {
  path: string;
  state: "new" | "changed" | "deleted";
  times: number;
  added: number;
  removed: number;
  last: WorkspaceChange;
}

/** Returns the changed files, newest change first. Leaves out the files of the template, and files that were created
 *  and deleted again. */
export function changedFiles(changes: readonly WorkspaceChange[]): ChangedFile[] {
  const files = new Map<string, ChangedFile & { created: boolean }>();
  for (const c of changes) {
    if (c.tool === "template") continue;
    const { added, removed } = counts(parse(c.diff ?? "").hunks);
    const old = files.get(c.path);
    const created = old ? old.created : c.op === "create";
    const state = c.op === "delete" ? "deleted" : created ? "new" : "changed";
    files.delete(c.path);
    files.set(c.path, {
      path: c.path,
      state,
      created,
      times: (old?.times ?? 0) + 1,
      added: (old?.added ?? 0) + added,
      removed: (old?.removed ?? 0) + removed,
      last: c,
    });
  }
  return [...files.values()].filter((f) => !(f.created && f.state === "deleted")).reverse();
}

const makers: Record<string, string> = {
  file_write: "Written",
  file_edit: "Edited",
  command: "Changed by a command",
  template: "From the template",
  outside: "Changed outside Footnote",
  revert: "Restored by hand",
};

/** Describes how a change was made. */
export function maker(c: Pick<WorkspaceChange, "tool" | "op">): string {
  const family = familyOf({ name: c.tool });
  if (c.op === "delete")
    return family === "command" ? "Deleted by a command" : c.tool === "revert" ? "Removed by hand" : "Deleted";
  return makers[family ?? c.tool] ?? `Changed by ${c.tool}`;
}

/** The selection in the address: a file or one of its changes. Paths never begin with a slash, so "/12/a/b.txt" is
 *  change 12 of "a/b.txt". */
export interface Selection {
  path: string;
  seq?: number;
}

export function parseSelection(at: string | undefined): Selection | undefined {
  if (!at) return undefined;
  const m = /^\/(\d+)\/(.+)$/s.exec(at);
  return m ? { path: m[2]!, seq: Number(m[1]) } : { path: at };
}

export const addressOf = (s: Selection): string => (s.seq === undefined ? s.path : `/${s.seq}/${s.path}`);
