// The commands of the menu, and the search among them.
import { offered, type Assistant, type Source } from "../../api/client";
import { queriesSources } from "../../composer/Composer";
import { mod } from "../../shell/shortcuts";
import type { IconName } from "../../ui/Icon";

export interface Command {
  id: string;
  name: string;
  group: string;
  icon: IconName;
  hint?: string;
  keys?: readonly string[];
  off?: string; // the reason why it is disabled
  run: () => void;
}

/** Returns the commands that contain every word of the query. Names that begin with the query come first in their
 *  group. */
export function matchingCommands(all: readonly Command[], query: string): readonly Command[] {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  if (!words.length) return all;
  const text = (c: Command) => `${c.name} ${c.group}`.toLowerCase();
  const has = all.filter((c) => words.every((w) => text(c).includes(w)));
  const begins = (c: Command) => c.name.toLowerCase().startsWith(words.join(" "));
  const order = [...new Set([...has.filter(begins), ...has].map((c) => c.group))];
  return order.flatMap((g) => {
    const mine = has.filter((c) => c.group === g);
    return [...mine.filter(begins), ...mine.filter((c) => !begins(c))];
  });
}

interface Context {
  conversation: boolean;
  dark: boolean;
  go: (to: "new" | "data" | "trace" | "settings" | "shortcuts" | "theme" | "export" | "link") => void;
  assistants: readonly Assistant[];
  sources: readonly Source[];
  assistant?: string;
  ask: (c: { assistant?: string; source?: string }) => void;
}

/** Returns all commands. */
export function commands(d: Context): Command[] {
  const all: Command[] = [
    {
      id: "new",
      name: "New question",
      group: "Go to",
      icon: "plus",
      keys: [mod, "Shift", "O"],
      run: () => d.go("new"),
    },
    { id: "data", name: "Browse the data", group: "Go to", icon: "table", run: () => d.go("data") },
  ];
  if (d.conversation) {
    all.push(
      {
        id: "trace",
        name: "Trace",
        hint: "Every event, with times and costs",
        group: "This conversation",
        icon: "trace",
        run: () => d.go("trace"),
      },
      {
        id: "export",
        name: "Export as HTML",
        hint: "One file, with footnotes",
        group: "This conversation",
        icon: "export",
        run: () => d.go("export"),
      },
      { id: "link", name: "Copy link", group: "This conversation", icon: "link", run: () => d.go("link") },
    );
  }
  const asking = d.assistants.find((a) => a.name === d.assistant) ?? d.assistants.find((a) => a.available);
  if (queriesSources(asking)) {
    if (d.sources.length > 1)
      all.push({
        id: "source:",
        name: "All data",
        group: "Ask about",
        icon: "database",
        run: () => d.ask({ source: "" }),
      });
    for (const s of d.sources) {
      all.push({
        id: `source:${s.name}`,
        name: s.name,
        hint: s.engine,
        group: "Ask about",
        icon: "database",
        off: s.ok ? undefined : (s.error ?? "This source cannot be opened."),
        run: () => d.ask({ source: s.name }),
      });
    }
  }
  if (d.assistants.length > 1) {
    for (const a of offered(d.assistants)) {
      const off = a.available ? undefined : (a.reason ?? "This assistant is not available.");
      all.push({
        id: `assistant:${a.name}`,
        name: a.title || a.name,
        hint: a.description,
        group: "Ask this assistant",
        icon: "thought",
        off,
        run: () => d.ask({ assistant: a.name }),
      });
    }
  }
  all.push(
    {
      id: "theme",
      name: d.dark ? "Light theme" : "Dark theme",
      group: "Settings",
      icon: "sun",
      run: () => d.go("theme"),
    },
    {
      id: "settings",
      name: "Usage and settings",
      hint: "Tokens, cost and budget",
      group: "Settings",
      icon: "settings",
      run: () => d.go("settings"),
    },
    {
      id: "shortcuts",
      name: "Keyboard shortcuts",
      group: "Settings",
      icon: "key",
      keys: ["?"],
      run: () => d.go("shortcuts"),
    },
  );
  return all;
}
