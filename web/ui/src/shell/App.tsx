import { Suspense, useCallback, useEffect, useMemo, useRef, useState } from "react";
import { noteFailure, onServerBack } from "../api/away";
import { api, errorMessage, setOnUnauthorized, type Session } from "../api/client";
import { useLoad } from "../api/load";
import { logOf, useConnection, useLog, useMissing, type Log } from "../log/store";
import { mainResult } from "../log/conversation";
import { lazyComponent } from "../lib/lazy";
import { useWide } from "../lib/media";
import { setMe } from "../lib/me";
import { moduleAt } from "../lib/modules";
import { go, useRoute, type Route } from "../lib/router";
import { Boundary } from "../ui/Boundary";
import { Button, IconButton } from "../ui/Button";
import { HomeLink } from "../ui/HomeLink";
import { Icon } from "../ui/Icon";
import { NotFound } from "../ui/NotFound";
import { Splitter, useSplit } from "../ui/Splitter";
import { preloadMarkdown } from "../thread/Answer";
import { useClientTools } from "../panes/files/clientTools";
import { useShortcuts } from "./shortcuts";
import { ConversationView } from "./ConversationView";
import { ConversationMenu } from "./ConversationMenu";
import { useConversations, useFreshList } from "./conversations";
import { Home } from "./Home";
import { preloadResult, RightPane } from "./RightPane";
import { Sidebar } from "./Sidebar";
import { SignIn } from "./SignIn";

const Settings = lazyComponent(() => import("./Settings"));
const CommandMenu = lazyComponent(() => import("../panes/menu/CommandMenu"));
const UsagePage = lazyComponent(() => import("../usage/UsagePage"));
const InboxPage = lazyComponent(() => import("../inbox/InboxPage"));

export function App() {
  const [session, setSession] = useState<Session>();
  const [error, setError] = useState("");
  const [locked, setLocked] = useState(false);
  const load = useCallback(() => {
    setError("");
    api.session().then(
      (s) => {
        setMe(s);
        setSession(s);
        setLocked(false);
      },
      (err) => {
        setError(errorMessage(err));
        noteFailure(err);
      },
    );
  }, []);
  const failed = useRef(false);
  failed.current = error !== "";
  useEffect(() => {
    setOnUnauthorized(() => setLocked(true));
    onServerBack(() => failed.current && load());
    load();
    preloadMarkdown();
  }, [load]);
  if (error) return <Unreachable why={error} onRetry={load} />;
  if (!session) return null;
  if ((session.needs_key && !session.signed_in) || locked)
    return <SignIn again={locked && session.signed_in} onDone={load} />;
  return <SignedIn session={session} />;
}

function Unreachable({ why, onRetry }: { why: string; onRetry: () => void }) {
  return (
    <main className="flex h-full flex-col items-center justify-center gap-4 p-5 text-center">
      <HomeLink />
      <p role="alert" className="max-w-drawer text-ink-soft">
        {why}
      </p>
      <Button look="primary" icon="retry" onClick={onRetry}>
        Try again
      </Button>
    </main>
  );
}

const toQuestion = { href: "#composer", label: "Skip to the question field" };
const toContent = { href: "#content", label: "Skip to the content" };

/** The app after signing in: the list of conversations, the thread and the right pane. */
function SignedIn({ session }: { session: Session }) {
  useFreshList();
  useLoad("assistants", api.assistants); // for the labels of their tools
  const at = useRoute();
  const wide = useWide();
  const [list, setList] = useState(wide);
  const [settings, setSettings] = useState(false);
  const [menu, setMenu] = useState<"commands" | "shortcuts" | null>(null);
  useEffect(() => setList(wide), [wide]);
  useShortcuts({
    menu: () => setMenu((m) => (m ? null : "commands")),
    list: () => setList((l) => !l),
    help: () => setMenu("shortcuts"),
  });
  const log = useMemo(() => (at.conversation ? logOf(at.conversation) : undefined), [at.conversation]);
  const module = moduleAt(at);
  const missing = useMissing(log);
  const asks = !at.page && !at.usage && !at.inbox && !missing;
  const skip = module?.skip ?? (asks ? toQuestion : toContent);
  return (
    <div className="flex h-full flex-col print:block">
      <Notices of={session.notices} />
      <div className="flex min-h-0 grow print:block">
        <a
          href={skip.href}
          className="sr-only focus:not-sr-only focus:absolute focus:z-50 focus:m-2 focus:rounded-md focus:bg-raised focus:p-2"
        >
          {skip.label}
        </a>
        {module ? (
          <Boundary of={at.page?.join("/")}>
            <Suspense fallback={null}>
              <module.Page at={at} />
            </Suspense>
          </Boundary>
        ) : (
          <Main
            log={log}
            at={at}
            wide={wide}
            list={list}
            setList={setList}
            session={session}
            onSettings={() => setSettings(true)}
          />
        )}
        <Boundary instead={null} of={`${settings} ${menu}`}>
          <Suspense fallback={null}>
            {settings && <Settings session={session} onClose={() => setSettings(false)} />}
            {menu && (
              <CommandMenu
                log={log}
                session={session}
                shortcuts={menu === "shortcuts"}
                onClose={() => setMenu(null)}
                onSettings={() => setSettings(true)}
              />
            )}
          </Suspense>
        </Boundary>
      </div>
    </div>
  );
}

/** What administrators should know of the server, such as that a file of the context is faulty. */
function Notices({ of = [] }: { of?: string[] }) {
  if (of.length === 0) return null;
  return (
    <div role="status" className="max-h-32 overflow-auto border-b bg-sunken px-5 py-2 text-sm print:hidden">
      {of.map((text) => (
        <p key={text} className="whitespace-pre-line">
          {text}
        </p>
      ))}
    </div>
  );
}

interface MainProps {
  log: Log | undefined;
  at: Route;
  wide: boolean;
  list: boolean;
  setList: (on: boolean) => void;
  session: Session;
  onSettings: () => void;
}

/** The list of conversations beside one of them, the usage page or the start page. */
function Main({ log, at, wide, list, setList, session, onSettings }: MainProps) {
  const header = { list, showList: () => setList(true) };
  const admin = session.roles.includes("admin");
  return (
    <>
      {list && !wide && (
        <div className="fixed inset-0 z-20 bg-veil" onClick={() => setList(false)} aria-hidden="true" />
      )}
      {list && (
        <aside
          className={`w-(--sidebar) print:hidden shrink-0 border-r bg-sunken ${wide ? "" : "fixed inset-y-0 left-0 z-30 shadow-over"}`}
          onKeyDown={(e) => !wide && e.key === "Escape" && setList(false)}
        >
          <Sidebar
            session={session}
            onNavigate={() => !wide && setList(false)}
            onHide={() => setList(false)}
            onSettings={onSettings}
          />
        </aside>
      )}
      {at.page ? (
        <Page {...header}>
          <NotFound title="Page not found">
            There is nothing at {location.pathname}. The link may be old or mistyped.
          </NotFound>
        </Page>
      ) : log ? (
        <ConversationPage log={log} at={at} wide={wide} {...header} session={session} />
      ) : at.usage || at.inbox ? (
        <Page {...header}>
          <Boundary>
            <Suspense fallback={null}>
              {at.usage ? <UsagePage org={session.org} admin={admin} /> : <InboxPage org={session.org} admin={admin} />}
            </Suspense>
          </Boundary>
        </Page>
      ) : (
        <Panes at={at} wide={wide} pane={at.view === "data"} session={session}>
          <Header {...header} />
          <Home session={session} />
        </Panes>
      )}
    </>
  );
}

/** A page without a right pane. */
function Page({ children, ...header }: HeaderProps & { children: React.ReactNode }) {
  return (
    <main id="content" tabIndex={-1} className="flex min-w-0 flex-1 flex-col">
      <Header {...header} />
      {children}
    </main>
  );
}

interface ConversationPageProps {
  log: Log;
  at: Route;
  wide: boolean;
  list: boolean;
  showList: () => void;
  session: Session;
}

/** A conversation beside one of its results. */
function ConversationPage({ log, at, wide, list, showList, session }: ConversationPageProps) {
  useEffect(() => log.follow(), [log]);
  useClientTools(log, session);
  useEffect(preloadResult, []);
  const newest = useLog(log, (c) => {
    for (let i = c.turns.length - 1; i >= 0; i--) {
      const id = mainResult(c, c.turns[i]!);
      if (id) return c.results[id]?.replacedBy ?? id;
    }
    return undefined;
  });
  const title = useLog(log, (c) => c.title);
  const refused = useConnection(log).state === "refused";
  const listed = useConversations().items.find((c) => c.id === log.id)?.assistant;
  const assistant = useLog(log, (c) => c.assistant) ?? listed;
  const [closed, setClosed] = useState<string>(); // the conversation whose pane was closed
  const missing = useMissing(log);
  if (missing)
    return (
      <Page list={list} showList={showList}>
        <NotFound title="Conversation not found">
          It may have been deleted, or the link may be wrong. Only the person who asked can open a conversation.
        </NotFound>
      </Page>
    );
  const coder = assistant === "coder";
  // A wide screen has the pane from the start, so that nothing moves when the first result arrives. On a narrow one the
  // pane would cover the thread. The coder has no results. Until the assistant is known, the page stays empty.
  const shown = at.result ?? newest;
  const requested = at.result !== undefined || at.view !== undefined;
  const pane = requested || (wide && assistant !== undefined && !coder && closed !== log.id);
  const close = () => {
    setClosed(log.id);
    go({ conversation: log.id }, "replace");
  };
  return (
    <Panes at={at} wide={wide} pane={pane} session={session} log={log} result={shown} onClose={close}>
      <Header
        list={list}
        showList={showList}
        title={title || (refused ? "Not available" : "New question")}
        log={log}
        files={coder ? at.view === "files" : undefined}
        pane={pane}
        onPane={coder ? undefined : () => (pane ? close() : setClosed(undefined))}
      />
      <ConversationView log={log} session={session} known={assistant !== undefined} />
    </Panes>
  );
}

function Panes({
  at,
  wide,
  pane,
  session,
  log,
  result,
  onClose,
  children,
}: {
  at: Route;
  wide: boolean;
  pane: boolean;
  session: Session;
  log?: Log;
  result?: string;
  onClose?: () => void;
  children: React.ReactNode;
}) {
  const [share, setShare] = useSplit();
  const close = onClose ?? (() => go({ conversation: at.conversation }));
  const right = pane && <RightPane log={log} result={result} at={at} session={session} onClose={close} />;
  return (
    <div className="flex min-w-0 flex-1 print:block">
      <main className="flex min-w-0 flex-1 flex-col print:block" inert={!wide && pane}>
        {children}
      </main>
      {right && wide && (
        <section
          aria-label="Result"
          className="flex min-w-(--pane-min) print:hidden bg-surface"
          style={{ width: `${share}%` }}
        >
          <Splitter share={share} onChange={setShare} label="Width of the right pane" />
          <div className="flex min-w-0 flex-1 flex-col">{right}</div>
        </section>
      )}
      {right && !wide && (
        <section aria-label="Result" className="fixed inset-0 z-10 flex flex-col print:hidden bg-surface">
          {right}
        </section>
      )}
    </div>
  );
}

interface HeaderProps {
  list: boolean;
  showList: () => void;
  title?: string;
  log?: Log;
  /** Whether the files of the workspace are shown. Undefined if the conversation has no workspace. */
  files?: boolean;
  pane?: boolean;
  onPane?: () => void;
}

function Header({ list, showList, title, log, files, pane, onPane }: HeaderProps) {
  return (
    <header className="flex h-(--header) shrink-0 items-center gap-1 px-3 print:[&>:not(h1)]:hidden">
      {!list && (
        <>
          <IconButton icon="menu" label="Show the conversations" onClick={showList} />
          <HomeLink short={log !== undefined} />
        </>
      )}
      {log && (
        <h1 dir="auto" className="min-w-0 flex-1 truncate px-2 text-left text-sm font-medium text-ink-soft">
          {title}
        </h1>
      )}
      {log && (
        <>
          {files !== undefined && (
            <IconButton
              icon="folder"
              label="Files of the workspace"
              aria-pressed={files}
              className="aria-pressed:bg-hover"
              onClick={() => go({ conversation: log.id, view: files ? undefined : "files" })}
            />
          )}
          <ConversationMenu key={log.id} log={log} />
          {onPane && (
            <button
              type="button"
              aria-expanded={pane}
              onClick={onPane}
              className="hidden h-9 items-center gap-1.5 rounded-md px-2 text-sm text-ink-soft hover:bg-hover lg:inline-flex"
            >
              <Icon name="panel" className="-scale-x-100" />
              <span className="sr-only">{pane ? "Hide the result" : "Show the result"}</span>
            </button>
          )}
        </>
      )}
    </header>
  );
}
