// What the changes of a workspace say about its files.
import type { WorkspaceChange } from "../../api/client";
import { familyOf } from "../../log/tools";
import { counts, parse } from "./diff";

/** A file that this conversation changed, and what became of it in all. */
export interface Touched {
  path: string;
  state: "new" | "changed" | "deleted";
  times: number;
  added: number;
  removed: number;
  last: WorkspaceChange;
}

/** The files that were changed, the newest change first. What the workspace began
 *  with is no change, nor is a file that came and went. */
export function touched(changes: readonly WorkspaceChange[]): Touched[] {
  const files = new Map<string, Touched & { born: boolean }>();
  for (const c of changes) {
    if (c.tool === "template") continue;
    const { added, removed } = counts(parse(c.diff ?? "").hunks);
    const old = files.get(c.path);
    const born = old ? old.born : c.op === "create";
    const state = c.op === "delete" ? "deleted" : born ? "new" : "changed";
    files.delete(c.path);
    files.set(c.path, {
      path: c.path,
      state,
      born,
      times: (old?.times ?? 0) + 1,
      added: (old?.added ?? 0) + added,
      removed: (old?.removed ?? 0) + removed,
      last: c,
    });
  }
  return [...files.values()].filter((f) => !(f.born && f.state === "deleted")).reverse();
}

const makers: Record<string, string> = {
  file_write: "Written",
  file_edit: "Edited",
  command: "Changed by a command",
  template: "From the template",
  outside: "Changed from outside",
  revert: "Reverted by a person",
};

/** What made a change, in words. */
export function maker(c: Pick<WorkspaceChange, "tool" | "op">): string {
  const family = familyOf({ name: c.tool });
  if (c.op === "delete")
    return family === "command" ? "Deleted by a command" : c.tool === "revert" ? "Removed by a person" : "Deleted";
  return makers[family ?? c.tool] ?? `Changed by ${c.tool}`;
}

/** What is selected, in the address: a file, or one of its changes. Paths never
 *  begin with a slash, so /12/a/b.txt is change 12 of a/b.txt. */
export interface Spot {
  path: string;
  seq?: number;
}

export function spotOf(at: string | undefined): Spot | undefined {
  if (!at) return undefined;
  const m = /^\/(\d+)\/(.+)$/s.exec(at);
  return m ? { path: m[2]!, seq: Number(m[1]) } : { path: at };
}

export const addressOf = (s: Spot): string => (s.seq === undefined ? s.path : `/${s.seq}/${s.path}`);
