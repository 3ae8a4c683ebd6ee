import { useEffect, useMemo, useState } from "react";
import { api, type ConversationHead } from "../../api/client";
import { useDebounced, useLoad } from "../../api/load";
import { download } from "../../lib/download";
import { listTime } from "../../lib/format";
import { pageOf } from "../../lib/modules";
import { go, href } from "../../lib/router";
import { setTheme, useDark } from "../../lib/theme";
import { setChoice, useChoice } from "../../shell/choice";
import { useConversations } from "../../shell/conversations";
import { mod, shortcuts as all } from "../../shell/shortcuts";
import { Button } from "../../ui/Button";
import { Dialog } from "../../ui/Dialog";
import { Icon } from "../../ui/Icon";
import { KeyTable, Keys } from "../../ui/Keys";
import { Picker } from "../../ui/Picker";
import type { CommandMenuProps } from "../slots";
import { commands, matchingCommands, type Command } from "./commands";

/** The command menu: finds commands and conversations as you type. */
export default function CommandMenu(props: CommandMenuProps) {
  const [list, setList] = useState(props.shortcuts ?? false);
  return list ? (
    <Shortcuts onClose={props.onClose} onBack={() => setList(false)} />
  ) : (
    <Commands {...props} onShortcuts={() => setList(true)} />
  );
}

const maxFound = 30;

function Commands({ log, onClose, onSettings, onShortcuts }: CommandMenuProps & { onShortcuts: () => void }) {
  const [query, setQuery] = useState("");
  const choice = useChoice();
  const dark = useDark();
  const assistants = useLoad("assistants", api.assistants).data?.assistants;
  const sources = useLoad("sources", api.sources).data?.sources;
  const found = useFoundConversations(query);

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
          else if (to === "export" && log) download(api.exportUrl(log.id), log.conversation().title);
          else if (to === "link" && log)
            void navigator.clipboard.writeText(location.origin + href({ conversation: log.id })).catch(() => {});
        },
        ask: ({ assistant, source }) => {
          if (assistant !== undefined) setChoice({ ...choice, assistant, tier: undefined });
          if (source !== undefined) setChoice({ ...choice, sources: source ? [source] : undefined });
          if (!pageOf(assistant)) go({});
        },
      }),
    [log, dark, assistants, sources, choice, onSettings],
  );
  const talks: Command[] = found.map((c) => ({
    id: `conversation:${c.id}`,
    name: c.title || "Untitled",
    hint: listTime(c.updated),
    group: "Conversations",
    icon: "search",
    run: () => go({ ...pageOf(c.assistant), conversation: c.id }),
  }));
  const matches = matchingCommands(does, query);
  const shown = query.trim()
    ? [...matches, ...talks]
    : [...matches.slice(0, 2), ...talks.slice(0, 5), ...matches.slice(2)];
  const run = (c: Command) => {
    if (c.id === "shortcuts") return onShortcuts();
    onClose();
    c.run();
  };
  return (
    <Picker
      title="Go to"
      field="Command"
      list="Commands"
      placeholder="Search commands and conversations"
      query={query}
      onQuery={setQuery}
      items={shown}
      keyOf={(c) => c.id}
      groupOf={(c) => c.group}
      isDisabled={(c) => c.off !== undefined}
      onPick={run}
      onClose={onClose}
      none="No matches. Try fewer or different words."
      fixedHeight
      foot={<KeyHints />}
    >
      {(c) => <CommandRow c={c} />}
    </Picker>
  );
}

function CommandRow({ c }: { c: Command }) {
  return (
    <>
      <Icon name={c.icon} small className="text-ink-quiet" />
      <span className="max-w-full shrink-0 truncate">{c.name}</span>
      <span className="min-w-0 flex-1 truncate text-xs text-ink-quiet">{c.off ?? c.hint}</span>
      {c.keys && (
        <span className="shrink-0 text-ink-quiet max-lg:hidden" aria-hidden="true">
          <Keys keys={c.keys} />
        </span>
      )}
    </>
  );
}

function KeyHints() {
  return (
    <p className="mt-2 flex gap-4 text-xs text-ink-quiet max-lg:hidden" aria-hidden="true">
      <span>
        <Keys keys={["↑", "↓"]} /> choose
      </span>
      <span>
        <Keys keys={["Enter"]} /> run
      </span>
      <span>
        <Keys keys={["Esc"]} /> close
      </span>
    </p>
  );
}

/** Returns the conversations that match the query: those in the list at once, then those that the server finds. */
function useFoundConversations(query: string): readonly ConversationHead[] {
  const { items } = useConversations();
  const words = useDebounced(query.trim(), 150);
  const [found, setFound] = useState<{ words: string; conversations: readonly ConversationHead[] }>();
  useEffect(() => {
    if (words.length < 2) return;
    const asked = new AbortController();
    api.conversations(words, "", asked.signal).then(
      ({ conversations }) => setFound({ words, conversations }),
      () => {}, // show only the matches in the list
    );
    return () => asked.abort();
  }, [words]);
  const near = items.filter((c) => c.title.toLowerCase().includes(query.trim().toLowerCase()));
  if (found?.words !== query.trim()) return near.slice(0, maxFound);
  const known = new Set(near.map((c) => c.id));
  return [...near, ...found.conversations.filter((c) => !known.has(c.id))].slice(0, maxFound);
}

function Shortcuts({ onClose, onBack }: { onClose: () => void; onBack: () => void }) {
  return (
    <Dialog title="Keyboard shortcuts" onClose={onClose} actions={<Button onClick={onBack}>All commands</Button>}>
      <KeyTable of={all} />
      <p className="mt-4 text-xs text-ink-quiet">{mod} K opens the commands from anywhere.</p>
    </Dialog>
  );
}
