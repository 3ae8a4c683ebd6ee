import { expect, test } from "vitest";
import { commands, fitting, type Command } from "./commands";

const command = (name: string, group = "Go to"): Command => ({ id: name, name, group, icon: "plus", run: () => {} });

test("every word must fit, and what begins so comes first in its group", () => {
  const all = [command("Browse the data"), command("Data of last year"), command("Dark theme", "Settings")];
  expect(fitting(all, "")).toBe(all);
  expect(fitting(all, "data").map((c) => c.name)).toEqual(["Data of last year", "Browse the data"]);
  expect(fitting(all, "the br").map((c) => c.name)).toEqual(["Browse the data"]);
  expect(fitting(all, "settings").map((c) => c.name)).toEqual(["Dark theme"]);
  expect(fitting(all, "x")).toEqual([]);
});

test("only a conversation can be exported, and what is off says why", () => {
  const d = {
    dark: false,
    go: () => {},
    ask: () => {},
    assistants: [],
    sources: [{ name: "shop", engine: "sqlite", tables: 4, ok: false, error: "The file is gone." }],
  };
  const ids = commands({ ...d, conversation: false }).map((c) => c.id);
  expect(ids).not.toContain("export");
  const all = commands({ ...d, conversation: true });
  expect(all.map((c) => c.id)).toContain("export");
  expect(all.find((c) => c.id === "source:shop")?.off).toBe("The file is gone.");
});
