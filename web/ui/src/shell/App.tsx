import { Suspense, useCallback, useEffect, useMemo, useRef, useState } from "react";
import { noteFailure, whenBack } from "../api/away";
import { api, sentence, whenUnauthorized, type Session } from "../api/client";
import { useLoad } from "../api/load";
import { logOf, useLine, useLog, type Log } from "../log/store";
import { mainResult } from "../log/conversation";
import { later } from "../lib/later";
import { useWide } from "../lib/media";
import { setMe } from "../lib/me";
import { go, useRoute, type Route } from "../lib/router";
import { Boundary } from "../ui/Boundary";
import { Button, IconButton } from "../ui/Button";
import { Icon, Logo } from "../ui/Icon";
import { Splitter, useSplit } from "../ui/Splitter";
import { preloadMarkdown } from "../thread/Answer";
import { useClientTools } from "../panes/files/clientTools";
import { useShortcuts } from "./shortcuts";
import { ConversationView } from "./ConversationView";
import { ConversationMenu } from "./ConversationMenu";
import { useFreshList } from "./conversations";
import { Home } from "./Home";
import { preloadResult, RightPane } from "./RightPane";
import { Sidebar } from "./Sidebar";
import { SignIn } from "./SignIn";

const Settings = later(() => import("./Settings"));
const CommandMenu = later(() => import("../panes/menu/CommandMenu"));
const UsagePage = later(() => import("../usage/UsagePage"));
const ChartPage = later(() => import("../market/index"));

export function App() {
  const [session, setSession] = useState<Session>();
  const [error, setError] = useState("");
  const [locked, setLocked] = useState(false);
  const load = useCallback(() => {
    setError("");
    api.session().then(
      (s) => {
        setMe(s.user);
        setSession(s);
        setLocked(false);
      },
      (err) => {
        setError(sentence(err));
        noteFailure(err);
      },
    );
  }, []);
  const missing = useRef(false);
  missing.current = error !== "";
  useEffect(() => {
    whenUnauthorized(() => setLocked(true));
    whenBack(() => missing.current && load());
    load();
    preloadMarkdown();
  }, [load]);
  if (error) return <Unreachable why={error} onRetry={load} />;
  if (!session) return null;
  if ((session.needs_key && !session.signed_in) || locked)
    return <SignIn again={locked && session.signed_in} onDone={load} />;
  return <Desk session={session} />;
}

function Unreachable({ why, onRetry }: { why: string; onRetry: () => void }) {
  return (
    <main className="flex h-full flex-col items-center justify-center gap-4 p-5 text-center">
      <Logo className="size-9" />
      <p role="alert" className="max-w-drawer text-ink-soft">
        {why}
      </p>
      <Button look="primary" icon="retry" onClick={onRetry}>
        Try again
      </Button>
    </main>
  );
}

/** Everything behind the sign-in: list, thread, right pane. */
function Desk({ session }: { session: Session }) {
  useFreshList();
  useLoad("assistants", api.assistants); // they describe their tools
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
  return (
    <div className="flex h-full print:block">
      <a
        href={at.chart ? "#chart" : "#composer"}
        className="sr-only focus:not-sr-only focus:absolute focus:z-50 focus:m-2 focus:rounded-md focus:bg-raised focus:p-2"
      >
        {at.chart ? "To the chart" : "To the question field"}
      </a>
      {at.chart ? (
        <Boundary of={at.chart.symbol}>
          <Suspense fallback={null}>
            <ChartPage at={at} />
          </Suspense>
        </Boundary>
      ) : (
        <Talks
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
  );
}

interface TalksProps {
  log: Log | undefined;
  at: Route;
  wide: boolean;
  list: boolean;
  setList: (on: boolean) => void;
  session: Session;
  onSettings: () => void;
}

/** The list of conversations, and one of them or the page before the first question. */
function Talks({ log, at, wide, list, setList, session, onSettings }: TalksProps) {
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
      {log ? (
        <Split log={log} at={at} wide={wide} list={list} showList={() => setList(true)} session={session} />
      ) : at.usage ? (
        <main className="flex min-w-0 flex-1 flex-col">
          <Header list={list} showList={() => setList(true)} />
          <Boundary>
            <Suspense fallback={null}>
              <UsagePage org={session.org} />
            </Suspense>
          </Boundary>
        </main>
      ) : (
        <Panes at={at} wide={wide} pane={at.view === "data"} session={session}>
          <Header list={list} showList={() => setList(true)} />
          <Home session={session} />
        </Panes>
      )}
    </>
  );
}

interface SplitProps {
  log: Log;
  at: Route;
  wide: boolean;
  list: boolean;
  showList: () => void;
  session: Session;
}

/** A conversation and, beside it, one of its results. */
function Split({ log, at, wide, list, showList, session }: SplitProps) {
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
  const refused = useLine(log).state === "refused";
  const coder = useLog(log, (c) => c.assistant === "coder");
  // On a wide screen the newest result is shown by itself; on a narrow one the
  // pane covers the thread, so it waits to be asked for.
  const [closed, setClosed] = useState<string>(); // the result that was closed
  const shown = at.result ?? newest;
  const asked = at.result !== undefined || at.view !== undefined;
  const pane = asked || (wide && newest !== undefined && closed !== newest);
  const close = () => {
    setClosed(newest);
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
        onPane={newest ? () => (pane ? close() : setClosed(undefined)) : undefined}
      />
      <ConversationView log={log} session={session} />
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
        <>
          <Splitter share={share} onChange={setShare} label="Width of the right pane" />
          <section
            aria-label="Result"
            className="flex min-w-(--pane-min) flex-col print:hidden bg-surface"
            style={{ width: `${share}%` }}
          >
            {right}
          </section>
        </>
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
  /** Whether the files of a workspace are shown; undefined where there is none. */
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
          {!log && (
            <span className="flex items-center gap-2 pl-1 font-serif text-lg font-semibold">
              <Logo /> Footnote
            </span>
          )}
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
