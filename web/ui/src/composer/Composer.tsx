import { capital } from "../lib/format";
import { useEffect, useRef, useState, type ReactNode } from "react";
import type { Assistant, Source } from "../api/client";
import { errorMessage, offered } from "../api/client";
import { IconButton } from "../ui/Button";
import { Icon } from "../ui/Icon";
import { Menu } from "../ui/Menu";
import { weightHint } from "./TierMenu";
import { draft, keepDraft } from "./drafts";
import { matchingTables, mentionAt, contextOf, useTables, onTableNamed, type TableName } from "./mentions";

export interface Choice {
  assistant?: string;
  tier?: string;
  sources?: string[];
}

interface Props {
  /** The name under which the draft is kept while the tab is open. */
  name: string;
  placeholder: string;
  running?: boolean;
  /** Context is text for the model besides the question, such as the tables that were mentioned. */
  onSend: (text: string, context?: string) => Promise<void>;
  onStop?: () => Promise<unknown>;
  /** The assistants and sources to choose from, for a new conversation. */
  choice?: { now: Choice; set: (c: Choice) => void; assistants: Assistant[]; sources: Source[] };
  /** Shown instead of `choice` in a conversation, where nothing can be chosen. */
  fixed?: ReactNode;
  tools?: ReactNode;
  /** The sources whose tables can be mentioned with @. */
  sources?: readonly string[];
  /** The tables that can be mentioned with @, instead of those of the sources. */
  tables?: readonly TableName[];
  autoFocus?: boolean;
  /** Why nothing can be sent at the moment. Writing is still possible. */
  off?: string;
}

function withTable(old: readonly TableName[], t: TableName): readonly TableName[] {
  return old.some((o) => o.source === t.source && o.table === t.table) ? old : [...old, t];
}

const none: readonly string[] = [];
const maxLength = 10_000;

/** The field for questions. Enter sends; Shift and Enter adds a line break. */
export function Composer({
  name,
  placeholder,
  running,
  onSend,
  onStop,
  choice,
  fixed,
  tools,
  sources = none,
  tables: given,
  autoFocus,
  off,
}: Props) {
  const [text, setText] = useState(() => draft(name));
  const [error, setError] = useState("");
  const [sending, setSending] = useState(false);
  const [held, setHeld] = useState(false); // the user pressed Enter while nothing can be sent
  const field = useRef<HTMLTextAreaElement>(null);
  const [pins, setPins] = useState<readonly TableName[]>([]);
  const [caret, setCaret] = useState<number>(); // undefined when no mention can be completed
  const [chosen, setChosen] = useState(0);
  const mention = caret === undefined ? undefined : mentionAt(text, caret);
  const tables = useTables(given ? none : sources, mention !== undefined);
  const offers = mention ? matchingTables(given ?? tables, mention.word) : [];
  const at = Math.min(chosen, offers.length - 1);

  const pin = (t: TableName) => {
    if (!mention) return;
    const end = mention.from + 1 + mention.word.length;
    const next = `${text.slice(0, mention.from)}${t.table} ${text.slice(end).replace(/^ /, "")}`;
    setText(next);
    setPins((old) => withTable(old, t));
    setCaret(undefined);
    const to = mention.from + t.table.length + 1;
    requestAnimationFrame(() => field.current?.setSelectionRange(to, to));
  };

  useEffect(
    () =>
      onTableNamed(field.current!, (t) => {
        setText((old) =>
          old.split(/\s+/).includes(t.table) ? old : `${old.trimEnd()}${old.trim() ? " " : ""}${t.table} `,
        );
        setPins((old) => withTable(old, t));
      }),
    [],
  );

  /** Handles a key that moves in the list of tables or picks one. Returns false for other keys. */
  const pickTable = (key: string): boolean => {
    if (!offers.length) return false;
    if (key === "ArrowDown") setChosen((at + 1) % offers.length);
    else if (key === "ArrowUp") setChosen((at - 1 + offers.length) % offers.length);
    else if (key === "Enter" || key === "Tab") pin(offers[at]!);
    else if (key === "Escape") setCaret(undefined);
    else return false;
    return true;
  };
  useEffect(() => {
    if (!off) setHeld(false);
  }, [off]);
  useEffect(() => {
    keepDraft(name, text);
  }, [name, text]);
  useEffect(() => {
    if (autoFocus && matchMedia("(hover: hover)").matches) field.current?.focus();
  }, [autoFocus, name]);

  const send = async () => {
    const words = text.trim();
    if (!words || sending) return;
    if (off) return setHeld(true);
    setSending(true);
    setError("");
    setText("");
    try {
      await onSend(words, contextOf(pins));
      setPins([]);
    } catch (err) {
      setText((now) => now || words);
      keepDraft(name, draft(name) || words); // the composer may be unmounted, such as after being signed out
      setError(errorMessage(err));
    }
    setSending(false);
    field.current?.focus();
  };

  const stop = () => onStop?.().catch((err: unknown) => setError(errorMessage(err)));

  return (
    <form
      className="relative rounded-xl border border-line bg-surface shadow-raised focus-within:border-line-strong"
      onSubmit={(e) => {
        e.preventDefault();
        void send();
      }}
    >
      <textarea
        ref={field}
        id="composer"
        dir="auto"
        aria-label="Your question"
        placeholder={placeholder}
        value={text}
        maxLength={maxLength}
        rows={1}
        aria-autocomplete="list"
        aria-controls={offers.length ? "composer-tables" : undefined}
        aria-activedescendant={offers.length ? `composer-table-${at}` : undefined}
        onChange={(e) => {
          setText(e.target.value);
          setCaret(e.target.selectionStart);
          setChosen(0);
          setError("");
        }}
        onBlur={() => setCaret(undefined)}
        onKeyDown={(e) => {
          if (!e.nativeEvent.isComposing && pickTable(e.key)) {
            e.preventDefault();
            return;
          }
          if (e.key === "Enter" && !e.shiftKey && !e.nativeEvent.isComposing) {
            e.preventDefault();
            void send();
          }
          if (e.key === "Escape" && running && !text) void stop();
        }}
        className="grow-with-text block max-h-48 w-full resize-none bg-transparent px-4 pt-3 pb-1 outline-none"
      />
      {error && (
        <p role="alert" className="px-4 text-sm text-bad">
          {error}
        </p>
      )}
      {held && off && (
        <p role="status" className="px-4 text-sm text-ink-soft">
          Not sent: {off}. Press Enter to try again.
        </p>
      )}
      {offers.length > 0 && (
        <ul
          id="composer-tables"
          role="listbox"
          aria-label="Tables"
          className="absolute bottom-full left-3 z-10 mb-1 max-w-popover min-w-48 rounded-lg border bg-raised p-1 shadow-over"
        >
          {offers.map((t, i) => (
            <li
              key={`${t.source}.${t.table}`}
              id={`composer-table-${i}`}
              role="option"
              aria-selected={i === at}
              onPointerDown={(e) => {
                e.preventDefault();
                pin(t);
              }}
              className={`flex cursor-pointer gap-2 rounded-md px-2 py-1.5 text-sm ${i === at ? "bg-hover" : ""}`}
            >
              <Icon name="table" small className="mt-0.5" />
              <span className="min-w-0 flex-1 truncate">{t.table}</span>
              <span className="text-ink-quiet">{t.source}</span>
            </li>
          ))}
        </ul>
      )}
      {pins.length > 0 && (
        <div className="flex flex-wrap gap-1 px-3 pt-1">
          {pins.map((t) => (
            <span
              key={`${t.source}.${t.table}`}
              className="inline-flex h-8 items-center gap-1 rounded-full bg-accent-soft pr-1 pl-2.5 text-sm text-accent"
            >
              {t.table}
              <IconButton
                icon="close"
                small
                round
                label={`Remove ${t.table}`}
                onClick={() => setPins((old) => old.filter((o) => o !== t))}
              />
            </span>
          ))}
        </div>
      )}
      <div className="flex items-center gap-1 p-2 pt-1">
        {choice ? <Choices {...choice} /> : fixed}
        {tools}
        <span className="flex-1" />
        {text.length > maxLength * 0.9 && (
          <span className="tabular text-xs text-ink-quiet">{maxLength - text.length}</span>
        )}
        {running && !text ? (
          <IconButton icon="stop" label="Stop" look="primary" round onClick={() => void stop()} />
        ) : (
          <IconButton
            icon="send"
            label={off ? `Send: ${off}` : "Send"}
            look="primary"
            type="submit"
            round
            disabled={!text.trim() || sending || off !== undefined}
          />
        )}
      </div>
    </form>
  );
}

/** Reports whether an assistant queries the server's sources. The others work with files. */
export function queriesSources(a: Assistant | undefined): boolean {
  return !a?.tools || a.tools.some((t) => t.family === "query" && t.side === "server");
}

export const chip =
  "inline-flex h-8 min-w-0 items-center gap-1.5 rounded-full border px-2.5 text-sm text-ink-soft hover:bg-hover hover:text-ink";

function Choices({ now, set, assistants: all, sources }: NonNullable<Props["choice"]>) {
  const assistants = offered(all);
  const assistant = assistants.find((a) => a.name === now.assistant) ?? assistants.find((a) => a.available);
  const tiers = assistant?.tiers ?? [];
  const tier = now.tier ?? assistant?.default_tier;
  const some = now.sources ?? [];
  return (
    <>
      {sources.length > 0 && queriesSources(assistant) && (
        <Menu
          label="Data"
          side="above"
          groups={[
            {
              title: "Ask about",
              items: [
                ...(sources.length > 1
                  ? [
                      {
                        label: "All data",
                        checked: some.length === 0,
                        onSelect: () => set({ ...now, sources: undefined }),
                      },
                    ]
                  : []),
                ...sources.map((s) => ({
                  label: s.name,
                  hint: s.ok ? `${s.engine}, ${s.tables === 1 ? "1 table" : `${s.tables} tables`}` : undefined,
                  disabled: s.ok ? undefined : (s.error ?? "This source cannot be opened."),
                  checked: some.includes(s.name) || sources.length === 1,
                  onSelect: () => set({ ...now, sources: [s.name] }),
                })),
              ],
            },
          ]}
          button={(p) => (
            <button type="button" {...p} className={chip}>
              <Icon name="database" small />
              <span className="truncate">
                {some.length ? some.join(", ") : sources.length === 1 ? sources[0]!.name : "All data"}
              </span>
            </button>
          )}
        />
      )}
      {(assistants.length > 1 || tiers.length > 1) && (
        <Menu
          label="Assistant"
          side="above"
          groups={[
            {
              title: "Assistant",
              items: assistants.map((a) => ({
                label: a.title || a.name,
                hint: a.description,
                disabled: a.available ? undefined : (a.reason ?? "This assistant is not available."),
                checked: a.name === assistant?.name,
                onSelect: () => set({ ...now, assistant: a.name, tier: undefined }),
              })),
            },
            ...(tiers.length > 1
              ? [
                  {
                    title: "Model",
                    items: tiers.map((t) => ({
                      label: capital(t.name),
                      checked: t.name === tier,
                      hint: weightHint(t.multiplier),
                      onSelect: () => set({ ...now, tier: t.name }),
                    })),
                  },
                ]
              : []),
          ]}
          button={(p) => (
            <button type="button" {...p} className={`${chip} border-transparent`}>
              <span className="truncate">
                {assistant?.title || assistant?.name || "Assistant"}
                {tiers.length > 1 && tier ? ` · ${capital(tier)}` : ""}
              </span>
              <Icon name="down" small />
            </button>
          )}
        />
      )}
    </>
  );
}
