import { useEffect, useRef, useState, type ReactNode } from "react";
import type { Assistant, Source } from "../api/client";
import { sentence } from "../api/client";
import { IconButton } from "../ui/Button";
import { Icon } from "../ui/Icon";
import { Menu } from "../ui/Menu";
import { draft, keepDraft } from "./drafts";
import { fitting, mentionAt, pinned, useTables, whenNamed, type TableName } from "./mentions";

export interface Choice {
  assistant?: string;
  tier?: string;
  sources?: string[];
}

interface Props {
  /** Drafts are kept under this name while the tab is open. */
  name: string;
  placeholder: string;
  running?: boolean;
  /** Context is what the model is told beside the text: tables that were named. */
  onSend: (text: string, context?: string) => Promise<void>;
  onStop?: () => Promise<unknown>;
  /** What can still be chosen; in a conversation everything is fixed. */
  choice?: { now: Choice; set: (c: Choice) => void; assistants: Assistant[]; sources: Source[] };
  /** What is shown instead of the choice in a conversation. */
  fixed?: ReactNode;
  tools?: ReactNode;
  /** Whose tables can be named with @. */
  sources?: readonly string[];
  /** The tables that can be named with @ instead. */
  tables?: readonly TableName[];
  autoFocus?: boolean;
  /** Why nothing can be sent now; one can still write. */
  off?: string;
}

function withTable(old: readonly TableName[], t: TableName): readonly TableName[] {
  return old.some((o) => o.source === t.source && o.table === t.table) ? old : [...old, t];
}

const none: readonly string[] = [];
const longest = 10_000;

/** Where questions are written. Enter sends, Shift and Enter breaks the line. */
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
  const [held, setHeld] = useState(false); // somebody tried to send while nothing can be sent
  const field = useRef<HTMLTextAreaElement>(null);
  const [pins, setPins] = useState<readonly TableName[]>([]);
  const [caret, setCaret] = useState<number>(); // while it may stand in a mention
  const [chosen, setChosen] = useState(0);
  const mention = caret === undefined ? undefined : mentionAt(text, caret);
  const tables = useTables(given ? none : sources, mention !== undefined);
  const offers = mention ? fitting(given ?? tables, mention.word) : [];
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
      whenNamed(field.current!, (t) => {
        setText((old) =>
          old.split(/\s+/).includes(t.table) ? old : `${old.trimEnd()}${old.trim() ? " " : ""}${t.table} `,
        );
        setPins((old) => withTable(old, t));
      }),
    [],
  );

  /** Keys that move in the offers; true when it was one. */
  const pick = (key: string): boolean => {
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
      await onSend(words, pinned(pins));
      setPins([]);
    } catch (err) {
      setText((now) => now || words);
      keepDraft(name, draft(name) || words); // also when this is shown no more: who is signed out finds it again
      setError(sentence(err));
    }
    setSending(false);
    field.current?.focus();
  };

  const stop = () => onStop?.().catch((err: unknown) => setError(sentence(err)));

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
        maxLength={longest}
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
          if (!e.nativeEvent.isComposing && pick(e.key)) {
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
          Not sent yet: {off}. Press Enter again when it is done.
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
                label={`Leave out ${t.table}`}
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
        {text.length > longest * 0.9 && <span className="tabular text-xs text-ink-quiet">{longest - text.length}</span>}
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

/** Whether an assistant asks the sources of the server: the others have files. */
export function asksSources(a: Assistant | undefined): boolean {
  return !a?.tools || a.tools.some((t) => t.family === "query" && t.side === "server");
}

export const capital = (s: string) => s.charAt(0).toUpperCase() + s.slice(1);

export const chip =
  "inline-flex h-8 min-w-0 items-center gap-1.5 rounded-full border px-2.5 text-sm text-ink-soft hover:bg-hover hover:text-ink";

function Choices({ now, set, assistants, sources }: NonNullable<Props["choice"]>) {
  const assistant = assistants.find((a) => a.name === now.assistant) ?? assistants.find((a) => a.available);
  const tiers = assistant?.tiers ?? [];
  const tier = now.tier;
  const some = now.sources ?? [];
  return (
    <>
      {sources.length > 0 && asksSources(assistant) && (
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
                  disabled: s.ok ? undefined : (s.error ?? "It cannot be opened."),
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
                disabled: a.available ? undefined : (a.reason ?? "It is not available here."),
                checked: a.name === assistant?.name,
                onSelect: () => set({ ...now, assistant: a.name, tier: undefined }),
              })),
            },
            ...(tiers.length > 1
              ? [
                  {
                    title: "Effort",
                    items: [
                      {
                        label: "As the assistant is set up",
                        checked: tier === undefined,
                        onSelect: () => set({ ...now, tier: undefined }),
                      },
                      ...tiers.map((t) => ({
                        label: capital(t.name),
                        checked: t.name === tier,
                        hint: t.multiplier === 1 ? undefined : `Counts ${t.multiplier} times`,
                        onSelect: () => set({ ...now, tier: t.name }),
                      })),
                    ],
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
