import { expect, test } from "vitest";
import type { WorkspaceChange } from "../../api/client";
import { addressOf, maker, parseSelection, changedFiles } from "./history";
import { learnTools } from "../../log/tools";
import { tree } from "./tree";

const change = (
  path: string,
  op: WorkspaceChange["op"],
  tool = "Edit",
  diff = "@@ -1 +1 @@\n-a\n+b\n",
): WorkspaceChange => ({ seq: 1, time: "2026-01-01T00:00:00Z", path, op, size: 1, tool, diff });

test("lists the files that a conversation changed", () => {
  const all = changedFiles([
    change("a", "create", "template"),
    change("b", "create", "template"),
    change("c", "create", "Write"),
    change("a", "write"),
    change("gone", "create", "Bash"),
    change("gone", "delete", "Bash"),
    change("a", "write"),
    change("b", "delete", "Bash"),
    change("c", "write"),
  ]);
  expect(all.map((f) => [f.path, f.state, f.times, f.added, f.removed])).toEqual([
    ["c", "new", 2, 2, 2],
    ["b", "deleted", 1, 1, 1],
    ["a", "changed", 2, 2, 2],
  ]);
});

test("names the author of a change", () => {
  learnTools([{ tools: [{ name: "Bash", family: "command" }] }]);
  expect(maker({ tool: "Bash", op: "delete" })).toBe("Deleted by a command");
  expect(maker({ tool: "revert", op: "write" })).toBe("Restored by hand");
});

test("the selection survives the address", () => {
  for (const s of [{ path: "a/b c.txt" }, { path: "a/b.txt", seq: 12 }, { path: "12/a" }])
    expect(parseSelection(addressOf(s))).toEqual(s);
  expect(parseSelection(undefined)).toBeUndefined();
});

test("groups files by folder", () => {
  const t = tree(
    ["a.txt", "src/deep/er/x.go", "src/deep/er/y.go", "lib/z.go", "lib/sub/w.go"].map((path) => ({ path })),
  );
  expect(t.files.map((f) => f.path)).toEqual(["a.txt"]);
  expect(t.folders.map((f) => [f.name, f.files.length, f.folders.map((g) => g.name)])).toEqual([
    ["src/deep/er", 2, []],
    ["lib", 1, ["sub"]],
  ]);
});
