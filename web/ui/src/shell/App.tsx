import { Suspense, useCallback, useEffect, useMemo, useRef, useState } from "react";
import { noteFailure, onServerBack } from "../api/away";
import { api, errorMessage, setOnUnauthorized, type Session } from "../api/client";
import { useLoad } from "../api/load";
import { logOf, useMissing, type Log } from "../log/store";
import { lazyComponent, whenIdle } from "../lib/lazy";
import { useWide } from "../lib/media";
import { setMe } from "../lib/me";
import { moduleAt } from "../lib/modules";
import { go, route, useRoute, type Route } from "../lib/router";
import { Boundary } from "../ui/Boundary";
import { Button } from "../ui/Button";
import { HomeLink } from "../ui/HomeLink";
import { NotFound } from "../ui/NotFound";
import { Markdown } from "../thread/markdown/lazy";
import { useShortcuts } from "./shortcuts";
import { useFreshList } from "./conversations";
import { Home } from "./Home";
import { Header, Page } from "./Page";
import { Panes } from "./Panes";
import { Sidebar } from "./Sidebar";
import { SignIn } from "./SignIn";

// A conversation is large, and the start page does not need it. It is loaded at once if the address names one,
// otherwise as soon as the start page is there.
const ConversationPage = lazyComponent(() => import("./ConversationPage"));
const RightPane = lazyComponent(async () => ({ default: (await import("./RightPane")).RightPane }));
if (route().conversation) preloadConversation();

function preloadConversation(): void {
  ConversationPage.preload();
  Markdown.preload();
}

const Settings = lazyComponent(() => import("./Settings"));
const CommandMenu = lazyComponent(() => import("../panes/menu/CommandMenu"));
const UsagePage = lazyComponent(() => import("../usage/UsagePage"));
const Consent = lazyComponent(() => import("./Consent"));
const InboxPage = lazyComponent(() => import("../inbox/InboxPage"));
const TestsPage = lazyComponent(() => import("../tests/TestsPage"));

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
  }, [load]);
  if (error) return <Unreachable why={error} onRetry={load} />;
  if (!session) return null;
  if ((session.needs_key && !session.signed_in) || locked)
    return <SignIn again={locked && session.signed_in} onDone={load} />;
  if (location.pathname === "/oauth/authorize")
    return (
      <Suspense fallback={null}>
        <Consent session={session} />
      </Suspense>
    );
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
  useEffect(() => whenIdle(preloadConversation), []);
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
  const asks = !at.page && !at.usage && !at.inbox && !at.tests && !missing;
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
        <Boundary>
          <Suspense fallback={<main id="content" className="min-w-0 flex-1" />}>
            <ConversationPage log={log} at={at} wide={wide} {...header} session={session} />
          </Suspense>
        </Boundary>
      ) : at.usage || at.inbox || at.tests ? (
        <Page {...header}>
          <Boundary>
            <Suspense fallback={null}>
              {at.usage && <UsagePage org={session.org} admin={admin} />}
              {at.inbox && <InboxPage org={session.org} admin={admin} />}
              {at.tests && <TestsPage admin={admin} />}
            </Suspense>
          </Boundary>
        </Page>
      ) : (
        <Panes wide={wide} right={at.view === "data" && <Browser at={at} session={session} />}>
          <Header {...header} />
          <Home session={session} />
        </Panes>
      )}
    </>
  );
}

/** The tables of the sources, beside the start page. */
function Browser({ at, session }: { at: Route; session: Session }) {
  return (
    <Boundary>
      <Suspense fallback={null}>
        <RightPane at={at} session={session} onClose={() => go({})} />
      </Suspense>
    </Boundary>
  );
}
