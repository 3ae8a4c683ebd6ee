import { useEffect, useMemo, useRef, useState, type KeyboardEvent } from "react";
import { api, type ConversationHead } from "../../api/client";
import { useDebounced, useLoad } from "../../api/load";
import { download } from "../../lib/download";
import { told } from "../../lib/format";
import { go, href } from "../../lib/router";
import { setTheme, useDark } from "../../lib/theme";
import { setChoice, useChoice } from "../../shell/choice";
import { useConversations } from "../../shell/conversations";
import { mod, shortcuts as all } from "../../shell/shortcuts";
import { Button } from "../../ui/Button";
import { Dialog } from "../../ui/Dialog";
import { Icon } from "../../ui/Icon";
import type { CommandMenuProps } from "../slots";
import { commands, fitting, type Command } from "./commands";

/** Everything by keyboard: type a few letters, go up and down, Enter does it. */
export default function CommandMenu(props: CommandMenuProps) {
  const [list, setList] = useState(props.shortcuts ?? false);
  return list ? <Shortcuts onClose={props.onClose} onBack={() => setList(false)} /> : <Commands {...props} onShortcuts={() => setList(true)} />;
}

const page = 8;
const mostFound = 30;

function Commands({ log, onClose, onSettings, onShortcuts }: CommandMenuProps & { onShortcuts: () => void }) {
  const [query, setQuery] = useState("");
  const [at, setAt] = useState(0);
  const list = useRef<HTMLDivElement>(null);
  const choice = useChoice();
  const dark = useDark();
  const assistants = useLoad("assistants", api.assistants).data?.assistants;
  const sources = useLoad("sources", api.sources).data?.sources;
  const found = useFound(query);

  const does = useMemo(
    () =>
      commands({
        conversation: log !== undefined,
        dark,
        assistants: assistants ?? [],
        sources: sources ?? [],
        assistant: choice.assistant,
        go: (to) => {
          if (to === "new") go({});
          else if (to === "data" || to === "trace") go({ conversation: log?.id, view: to });
          else if (to === "settings") onSettings();
          else if (to === "theme") setTheme(dark ? "light" : "dark");
          else if (to === "export" && log) download(api.exportUrl(log.id));
          else if (to === "link" && log) void navigator.clipboard.writeText(location.origin + href({ conversation: log.id })).catch(() => {});
        },
        ask: ({ assistant, source }) => {
          if (assistant !== undefined) setChoice({ ...choice, assistant, tier: undefined });
          if (source !== undefined) setChoice({ ...choice, sources: source ? [source] : undefined });
          go({});
        },
      }),
    [log, dark, assistants, sources, choice, onSettings],
  );
  const talks: Command[] = found.map((c) => ({
    id: `conversation:${c.id}`,
    name: c.title || "Untitled",
    hint: told(c.updated),
    group: "Conversations",
    icon: "search",
    run: () => go({ conversation: c.id }),
  }));
  // Who types looks for a conversation more often than for a command with the same words.
  const fits = fitting(does, query);
  const shown = query.trim() ? [...fits, ...talks] : [...fits.slice(0, 2), ...talks.slice(0, 5), ...fits.slice(2)];
  const chosen = Math.min(at, shown.length - 1);

  useEffect(() => {
    list.current?.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: "nearest" });
  }, [chosen, shown.length]);

  const run = (c: Command | undefined) => {
    if (!c || c.off !== undefined) return;
    if (c.id === "shortcuts") return onShortcuts();
    onClose();
    c.run();
  };
  const press = (e: KeyboardEvent) => {
    if (e.nativeEvent.isComposing) return;
    const last = shown.length - 1;
    if (e.key === "ArrowDown") setAt(chosen >= last ? 0 : chosen + 1);
    else if (e.key === "ArrowUp") setAt(chosen <= 0 ? last : chosen - 1);
    else if (e.key === "PageDown") setAt(Math.min(last, chosen + page));
    else if (e.key === "PageUp") setAt(Math.max(0, chosen - page));
    else if (e.key === "Enter") run(shown[chosen]);
    else return;
    e.preventDefault();
  };
  return (
    <Dialog title="Go to" onClose={onClose}>
      <input
        role="combobox"
        aria-label="Command"
        aria-expanded="true"
        aria-controls="commands"
        aria-autocomplete="list"
        aria-activedescendant={chosen >= 0 ? `command-${chosen}` : undefined}
        placeholder="A command, or words of a conversation"
        maxLength={200}
        value={query}
        onChange={(e) => {
          setQuery(e.target.value);
          setAt(0);
        }}
        onKeyDown={press}
        className="h-10 w-full rounded-md border bg-surface px-3"
      />
      <div ref={list} id="commands" role="listbox" aria-label="Commands" tabIndex={-1} hidden={!shown.length} className="mt-2 h-80 overflow-y-auto">
        {shown.map((c, i) => (
          <Option key={c.id} c={c} id={`command-${i}`} selected={i === chosen} heads={c.group !== shown[i - 1]?.group} onPoint={() => setAt(i)} onRun={() => run(c)} />
        ))}
      </div>
      <p role="status" className={shown.length ? "sr-only" : "mt-2 h-80 px-3 py-4 text-sm text-ink-quiet"}>
        {shown.length ? "" : "Nothing fits. Try other words, or fewer."}
      </p>
      <p className="mt-2 flex gap-4 text-xs text-ink-quiet max-lg:hidden" aria-hidden="true">
        <span>
          <Keys keys={["↑", "↓"]} /> choose
        </span>
        <span>
          <Keys keys={["Enter"]} /> do it
        </span>
        <span>
          <Keys keys={["Esc"]} /> close
        </span>
      </p>
    </Dialog>
  );
}

interface OptionProps {
  c: Command;
  id: string;
  selected: boolean;
  heads: boolean; // the first of its group
  onPoint: () => void;
  onRun: () => void;
}

function Option({ c, id, selected, heads, onPoint, onRun }: OptionProps) {
  return (
    <>
      {heads && (
        <div role="presentation" className="px-3 pt-2 pb-0.5 text-xs text-ink-quiet">
          {c.group}
        </div>
      )}
      <div
        id={id}
        role="option"
        aria-selected={selected}
        aria-disabled={c.off !== undefined || undefined}
        onPointerMove={() => selected || onPoint()}
        onClick={onRun}
        className={`flex min-h-9 cursor-pointer items-center gap-2.5 rounded-md px-3 py-1.5 text-sm ${selected ? "bg-hover" : ""} ${c.off ? "text-ink-quiet" : ""}`}
      >
        <Icon name={c.icon} small className="text-ink-quiet" />
        <span className="max-w-full shrink-0 truncate">{c.name}</span>
        <span className="min-w-0 flex-1 truncate text-xs text-ink-quiet">{c.off ?? c.hint}</span>
        {c.keys && (
          <span className="shrink-0 text-ink-quiet max-lg:hidden" aria-hidden="true">
            <Keys keys={c.keys} />
          </span>
        )}
      </div>
    </>
  );
}

/** Conversations: the newest, or those of the whole log that have the words. */
function useFound(query: string): readonly ConversationHead[] {
  const { items } = useConversations();
  const words = useDebounced(query.trim(), 150);
  const [found, setFound] = useState<{ words: string; conversations: readonly ConversationHead[] }>();
  useEffect(() => {
    if (words.length < 2) return;
    const asked = new AbortController();
    api.conversations(words, "", asked.signal).then(
      ({ conversations }) => setFound({ words, conversations }),
      () => {}, // those that are known are found without the server
    );
    return () => asked.abort();
  }, [words]);
  const near = items.filter((c) => c.title.toLowerCase().includes(query.trim().toLowerCase()));
  if (found?.words !== query.trim()) return near.slice(0, mostFound);
  const known = new Set(near.map((c) => c.id));
  return [...near, ...found.conversations.filter((c) => !known.has(c.id))].slice(0, mostFound);
}

function Keys({ keys }: { keys: readonly string[] }) {
  return keys.map((k) => (
    <kbd key={k} className="ml-1 rounded-sm border px-1.5 font-sans text-xs">
      {k}
    </kbd>
  ));
}

function Shortcuts({ onClose, onBack }: { onClose: () => void; onBack: () => void }) {
  return (
    <Dialog title="Keyboard shortcuts" onClose={onClose} actions={<Button onClick={onBack}>All commands</Button>}>
      <dl className="grid grid-cols-[auto_1fr] items-baseline gap-x-5 gap-y-2 text-sm">
        {all.map((s) => (
          <div key={s.does} className="contents">
            <dt className="text-right whitespace-nowrap">
              <Keys keys={s.keys} />
            </dt>
            <dd className="text-ink-soft">{s.does}</dd>
          </div>
        ))}
      </dl>
      <p className="mt-4 text-xs text-ink-quiet">{mod} K opens the commands from anywhere.</p>
    </Dialog>
  );
}
