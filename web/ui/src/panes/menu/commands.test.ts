import { expect, test } from "vitest";
import type { Assistant } from "../../api/client";
import { commands, matchingCommands, type Command } from "./commands";

const command = (name: string, group = "Go to"): Command => ({ id: name, name, group, icon: "plus", run: () => {} });

test("a command must match every word; names that begin with the query come first in their group", () => {
  const all = [command("Browse the data"), command("Data of last year"), command("Dark theme", "Settings")];
  expect(matchingCommands(all, "")).toBe(all);
  expect(matchingCommands(all, "data").map((c) => c.name)).toEqual(["Data of last year", "Browse the data"]);
  expect(matchingCommands(all, "the br").map((c) => c.name)).toEqual(["Browse the data"]);
  expect(matchingCommands(all, "settings").map((c) => c.name)).toEqual(["Dark theme"]);
  expect(matchingCommands(all, "x")).toEqual([]);
});

test("only a conversation can be exported, and a disabled command has a reason", () => {
  const d = {
    dark: false,
    go: () => {},
    ask: () => {},
    assistants: [],
    sources: [{ name: "shop", engine: "sqlite", tables: 4, ok: false, error: "The file is gone." }],
  };
  const assistant = (name: string, available: boolean) =>
    ({ name, title: name, description: "", model: "", available, reason: "Not configured." }) as Assistant;
  const some = [assistant("analyst", true), assistant("coder", false), assistant("chart", false)];
  const offered = commands({ ...d, assistants: some, conversation: false }).filter((c) =>
    c.id.startsWith("assistant:"),
  );
  expect(offered.map((c) => [c.id, c.off])).toEqual([
    ["assistant:analyst", undefined],
    ["assistant:coder", "Not configured."],
  ]);
  const ids = commands({ ...d, conversation: false }).map((c) => c.id);
  expect(ids).not.toContain("export");
  const all = commands({ ...d, conversation: true });
  expect(all.map((c) => c.id)).toContain("export");
  expect(all.find((c) => c.id === "source:shop")?.off).toBe("The file is gone.");
});
