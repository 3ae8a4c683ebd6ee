import { useEffect, useRef, useState } from "react";
import { useAway } from "../api/away";
import { api, type ConversationHead, type Session } from "../api/client";
import { useDebounced } from "../api/load";
import { forgetDrafts } from "../composer/drafts";
import { period, listTime } from "../lib/format";
import { offeredModules, pageOf, type Module } from "../lib/modules";
import { follow, go, href, useRoute } from "../lib/router";
import { setTheme, useTheme } from "../lib/theme";
import { Button, IconButton } from "../ui/Button";
import { HomeLink } from "../ui/HomeLink";
import { Icon } from "../ui/Icon";
import { Menu } from "../ui/Menu";
import { download } from "../lib/download";
import { loadMore, refresh, useConversations } from "./conversations";
import { Delete, Rename } from "./dialogs";

interface Props {
  session: Session;
  onNavigate: () => void;
  onHide: () => void;
  onSettings: () => void;
}

export function Sidebar({ session, onNavigate, onHide, onSettings }: Props) {
  const [query, setQuery] = useState("");
  const debounced = useDebounced(query, 200);
  const first = useRef(true);
  useEffect(() => {
    if (!first.current) void refresh(debounced.trim());
    first.current = false;
  }, [debounced]);
  return (
    <nav aria-label="Conversations" className="flex h-full min-h-0 flex-col">
      <header className="flex h-(--header) shrink-0 items-center gap-2 pr-2 pl-4">
        <HomeLink onNavigate={onNavigate} />
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
        {offeredModules(session).map((m) => (
          <ModuleLink key={m.path} module={m} onNavigate={onNavigate} />
        ))}
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

/** The link to the page of a module. */
function ModuleLink({ module, onNavigate }: { module: Module; onNavigate: () => void }) {
  const to = { page: [module.path] };
  return (
    <a
      href={href(to)}
      onClick={(e) => follow(e, to, onNavigate)}
      className="flex h-9 items-center gap-2 rounded-md px-3 text-sm text-ink-soft hover:bg-hover hover:text-ink"
    >
      <Icon name={module.link.icon} small />
      {module.link.label}
    </a>
  );
}

function Conversations({ onNavigate }: { onNavigate: () => void }) {
  const { items, loading, error, next, query } = useConversations();
  const away = useAway();
  const now = useRoute().conversation;
  const groups = Map.groupBy(items, (c) => period(c.updated));
  const byTitle = Map.groupBy(items, (c) => c.title);
  return (
    <div className="scroll min-h-0 flex-1 px-2 pb-4">
      {[...groups].map(([title, some]) => (
        <section key={title} aria-label={title} className="mt-2">
          <h3 className="px-2 pt-1 pb-1 text-xs text-ink-quiet">{title}</h3>
          <ul>
            {some.map((c) => (
              <Row
                key={c.id}
                c={c}
                now={c.id === now}
                showTime={byTitle.get(c.title)!.length > 1}
                onNavigate={onNavigate}
              />
            ))}
          </ul>
        </section>
      ))}
      {away && (
        <p className="px-2 py-3 text-xs text-ink-quiet">
          {items.length > 0
            ? "Offline: showing the last known list"
            : "Offline: the list will load once the server is back"}
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
      {!loading && !error && !next && items.length === 0 && (
        <p className="px-2 py-3 text-sm text-ink-quiet">
          {query ? "No conversations match." : "Your conversations will appear here."}
        </p>
      )}
      {next && (
        <Button look="quiet" className="mt-2 w-full" disabled={loading} onClick={() => void loadMore()}>
          {query ? "Search older conversations" : "Older"}
        </Button>
      )}
    </div>
  );
}

interface RowProps {
  c: ConversationHead;
  now: boolean;
  /** Show the time, because other conversations have the same title. */
  showTime: boolean;
  onNavigate: () => void;
}

function Row({ c, now, showTime, onNavigate }: RowProps) {
  const [dialog, setDialog] = useState<"rename" | "delete" | null>(null);
  const title = c.title || "Untitled";
  const to = { ...pageOf(c.assistant), conversation: c.id };
  return (
    <li className={`group flex min-h-8 items-center rounded-md ${now ? "bg-hover" : "hover:bg-hover"}`}>
      <a
        href={href(to)}
        aria-current={now ? "page" : undefined}
        title={title}
        onClick={(e) => follow(e, to, onNavigate)}
        className={`flex min-h-8 min-w-0 flex-1 items-center gap-2 rounded-md pl-2 text-sm ${now ? "text-ink" : "text-ink-soft"}`}
      >
        <span className="min-w-0 flex-1 text-left">
          <span dir="auto" className="block truncate">
            {title}
          </span>
          {c.excerpt && (
            <span dir="auto" className="mb-1 line-clamp-2 text-xs wrap-anywhere text-ink-quiet">
              {c.excerpt}
            </span>
          )}
        </span>
        {showTime && <span className="tabular shrink-0 text-xs text-ink-quiet">{listTime(c.updated)}</span>}
        {c.state === "running" && <Icon name="spinner" small className="turning text-accent" />}
        {c.state === "parked" && (
          <span className="size-2 shrink-0 rounded-full bg-warn" role="img" aria-label="waiting for you" />
        )}
      </a>
      <Menu
        label={`Actions for ${title}`}
        align="end"
        groups={[
          {
            items: [
              { label: "Rename", icon: "edit", onSelect: () => setDialog("rename") },
              { label: "Export as HTML", icon: "export", onSelect: () => download(api.exportUrl(c.id), c.title) },
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
            label: { system: "Match the system", light: "Light", dark: "Dark" }[t],
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
                    label: "Everyone's usage",
                    icon: "chart" as const,
                    onSelect: () => (go({ usage: true }), onNavigate()),
                  },
                  {
                    label: "Answers to check",
                    icon: "alert" as const,
                    onSelect: () => (go({ inbox: true }), onNavigate()),
                  },
                  {
                    label: "Tests of answers",
                    icon: "check" as const,
                    onSelect: () => (go({ tests: true }), onNavigate()),
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
