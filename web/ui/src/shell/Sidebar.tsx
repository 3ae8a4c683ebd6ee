import { useEffect, useRef, useState, type MouseEvent } from "react";
import { useAway } from "../api/away";
import { api, type ConversationHead, type Session } from "../api/client";
import { useDebounced } from "../api/load";
import { forgetDrafts } from "../composer/drafts";
import { period, told } from "../lib/format";
import { go, href, useRoute } from "../lib/router";
import { setTheme, useTheme } from "../lib/theme";
import { Button, IconButton } from "../ui/Button";
import { Icon, Logo } from "../ui/Icon";
import { Menu } from "../ui/Menu";
import { download } from "../lib/download";
import { more, refresh, useConversations } from "./conversations";
import { Delete, Rename } from "./dialogs";

interface Props {
  session: Session;
  onNavigate: () => void;
  onHide: () => void;
  onSettings: () => void;
}

export function Sidebar({ session, onNavigate, onHide, onSettings }: Props) {
  const [query, setQuery] = useState("");
  const late = useDebounced(query, 200);
  const first = useRef(true);
  useEffect(() => {
    if (!first.current) void refresh(late.trim());
    first.current = false;
  }, [late]);
  return (
    <nav aria-label="Conversations" className="flex h-full min-h-0 flex-col">
      <header className="flex h-(--header) shrink-0 items-center gap-2 pr-2 pl-4">
        <a
          href="/"
          onClick={(e) => follow(e, {}, onNavigate)}
          className="flex items-center gap-2 rounded-md font-serif text-lg font-semibold"
          aria-label="Footnote, new question"
        >
          <Logo />
          Footnote
        </a>
        <IconButton icon="panel" label="Hide the conversations" className="ml-auto" onClick={onHide} />
      </header>
      <div className="space-y-2 px-3 pb-2">
        <a
          href="/"
          onClick={(e) => follow(e, {}, onNavigate)}
          className="flex h-9 items-center gap-2 rounded-md border bg-surface px-3 text-sm font-medium hover:bg-hover"
        >
          <Icon name="plus" small />
          New question
        </a>
        {session.features.charts && <ChartsLink onNavigate={onNavigate} />}
        <label className="flex h-9 items-center gap-2 rounded-md px-3 text-sm text-ink-quiet focus-within:bg-hover hover:bg-hover">
          <Icon name="search" small />
          <span className="sr-only">Search conversations</span>
          <input
            type="search"
            placeholder="Search"
            value={query}
            onChange={(e) => setQuery(e.target.value)}
            className="min-w-0 flex-1 bg-transparent text-ink outline-none"
          />
        </label>
      </div>
      <Conversations onNavigate={onNavigate} />
      <footer className="flex shrink-0 items-center gap-1 border-t p-2">
        <Account session={session} onSettings={onSettings} onNavigate={onNavigate} />
      </footer>
    </nav>
  );
}

/** The way to the charts. */
function ChartsLink({ onNavigate }: { onNavigate: () => void }) {
  return (
    <a
      href="/chart"
      onClick={(e) => follow(e, { chart: {} }, onNavigate)}
      className="flex h-9 items-center gap-2 rounded-md px-3 text-sm text-ink-soft hover:bg-hover hover:text-ink"
    >
      <Icon name="line" small />
      Charts
    </a>
  );
}

/** Lets the browser open a new tab where that was meant. */
function follow(e: MouseEvent, to: Parameters<typeof go>[0], then: () => void): void {
  if (e.ctrlKey || e.metaKey || e.shiftKey || e.button !== 0) return;
  e.preventDefault();
  go(to);
  then();
}

function Conversations({ onNavigate }: { onNavigate: () => void }) {
  const { items, loading, error, next, query } = useConversations();
  const away = useAway();
  const now = useRoute().conversation;
  const groups = Map.groupBy(items, (c) => period(c.updated));
  const same = Map.groupBy(items, (c) => c.title);
  return (
    <div className="scroll min-h-0 flex-1 px-2 pb-4">
      {[...groups].map(([title, some]) => (
        <section key={title} aria-label={title} className="mt-2">
          <h3 className="px-2 pt-1 pb-1 text-xs text-ink-quiet">{title}</h3>
          <ul>
            {some.map((c) => (
              <Row key={c.id} c={c} now={c.id === now} when={same.get(c.title)!.length > 1} onNavigate={onNavigate} />
            ))}
          </ul>
        </section>
      ))}
      {away && (
        <p className="px-2 py-3 text-xs text-ink-quiet">
          {items.length > 0 ? "As it was when the server last answered." : "The list comes when the server answers."}
        </p>
      )}
      {!away && !loading && error && (
        <p role="alert" className="px-2 py-3 text-sm text-bad">
          {error}{" "}
          <button
            type="button"
            onClick={() => void refresh()}
            className="rounded-sm font-medium underline underline-offset-2"
          >
            Try again
          </button>
        </p>
      )}
      {!loading && !error && items.length === 0 && (
        <p className="px-2 py-3 text-sm text-ink-quiet">
          {query ? "Nothing found." : "What you ask will be kept here."}
        </p>
      )}
      {next && (
        <Button look="quiet" className="mt-2 w-full" disabled={loading} onClick={() => void more()}>
          Older
        </Button>
      )}
    </div>
  );
}

interface RowProps {
  c: ConversationHead;
  now: boolean;
  /** Others have the same title: the time tells them apart. */
  when: boolean;
  onNavigate: () => void;
}

function Row({ c, now, when, onNavigate }: RowProps) {
  const [dialog, setDialog] = useState<"rename" | "delete" | null>(null);
  const title = c.title || "Untitled";
  const to = c.assistant === "chart" ? { chart: {}, conversation: c.id } : { conversation: c.id };
  return (
    <li className={`group flex h-8 items-center rounded-md ${now ? "bg-hover" : "hover:bg-hover"}`}>
      <a
        href={href(to)}
        aria-current={now ? "page" : undefined}
        title={title}
        onClick={(e) => follow(e, to, onNavigate)}
        className={`flex h-full min-w-0 flex-1 items-center gap-2 rounded-md pl-2 text-sm ${now ? "text-ink" : "text-ink-soft"}`}
      >
        <span dir="auto" className="min-w-0 flex-1 truncate text-left">
          {title}
        </span>
        {when && <span className="tabular shrink-0 text-xs text-ink-quiet">{told(c.updated)}</span>}
        {c.state === "running" && <Icon name="spinner" small className="turning text-accent" />}
        {c.state === "parked" && (
          <span className="size-2 shrink-0 rounded-full bg-warn" role="img" aria-label="waits for you" />
        )}
      </a>
      <Menu
        label={`Actions for ${title}`}
        align="end"
        groups={[
          {
            items: [
              { label: "Rename", icon: "edit", onSelect: () => setDialog("rename") },
              { label: "Export as HTML", icon: "export", onSelect: () => download(api.exportUrl(c.id)) },
              { label: "Delete", icon: "trash", danger: true, onSelect: () => setDialog("delete") },
            ],
          },
        ]}
        button={(p) => (
          <IconButton
            icon="dots"
            small
            label={`Actions for ${title}`}
            {...p}
            className="mr-0.5 opacity-0 group-focus-within:opacity-100 group-hover:opacity-100 aria-expanded:opacity-100 max-lg:opacity-100"
          />
        )}
      />
      {dialog === "rename" && <Rename id={c.id} title={c.title} onClose={() => setDialog(null)} />}
      {dialog === "delete" && <Delete id={c.id} title={c.title} now={now} onClose={() => setDialog(null)} />}
    </li>
  );
}

function Account({ session, onSettings, onNavigate }: Omit<Props, "onHide">) {
  const theme = useTheme();
  const name = session.name || session.user;
  return (
    <Menu
      label="Settings"
      side="above"
      groups={[
        {
          title: "Appearance",
          items: (["system", "light", "dark"] as const).map((t) => ({
            label: { system: "As the system", light: "Light", dark: "Dark" }[t],
            checked: theme === t,
            onSelect: () => setTheme(t),
          })),
        },
        {
          items: [
            { label: "Usage and settings", icon: "settings", onSelect: onSettings },
            ...(session.roles.includes("admin")
              ? [
                  {
                    label: "Usage of all people",
                    icon: "chart" as const,
                    onSelect: () => (go({ usage: true }), onNavigate()),
                  },
                ]
              : []),
            ...(session.needs_key
              ? [
                  {
                    label: "Sign out",
                    icon: "key" as const,
                    onSelect: () => void api.signOut().finally(() => (forgetDrafts(), location.reload())),
                  },
                ]
              : []),
          ],
        },
      ]}
      button={(p) => (
        <button
          type="button"
          {...p}
          className="flex h-9 min-w-0 flex-1 items-center gap-2 rounded-md px-2 text-left text-sm text-ink-soft hover:bg-hover"
        >
          <span
            className="flex size-6 shrink-0 items-center justify-center rounded-full bg-accent-soft text-xs font-semibold text-accent uppercase"
            aria-hidden="true"
          >
            {name.slice(0, 1)}
          </span>
          <span className="min-w-0 flex-1 truncate">{name === "local" ? "This machine" : name}</span>
          <Icon name="settings" small />
        </button>
      )}
    />
  );
}
