import { Suspense, useEffect } from "react";
import { api, type Session } from "../api/client";
import { useLoad } from "../api/load";
import { later } from "../lib/later";
import { Boundary } from "../ui/Boundary";
import { money } from "../lib/format";
import { Composer } from "../composer/Composer";
import { busy } from "../log/conversation";
import { useLine, useLog, type Log } from "../log/store";
import { Icon } from "../ui/Icon";
import { askNext } from "../thread/ask";
import { Thread } from "../thread/Thread";
import { refresh } from "./conversations";
import { Dropped } from "../panes/files/Dropped";
import { local, named, opening, schemaText, tables, useLocal } from "../panes/files/store";

const LocalFiles = later(() => import("../panes/files/LocalFiles"));

// What conversations were told of the files, so that it is said again only when it
// has changed.
const told = new Map<string, string>();

/** Asks about the files that are open, and says of them what is new. */
async function askOfFiles(log: Log, text: string, context: string | undefined): Promise<void> {
  await tables();
  const schema = local().files.length ? schemaText(local().files) : "";
  const news = schema && told.get(log.id) !== schema ? schema : "";
  await askNext(log, text, [news, context].filter(Boolean).join("\n") || undefined);
  if (news) told.set(log.id, news);
}

/** What the conversation cost so far, and what is left of the budget. */
function Spent({ log, running }: { log: Log; running: boolean }) {
  const cost = useLog(log, (c) => c.turns.reduce((sum, t) => sum + (t.cost?.micro_usd ?? 0), 0));
  const usage = useLoad("usage", api.usage);
  const { reload } = usage;
  useEffect(() => {
    if (!running) reload();
  }, [running, reload]);
  const { limit_tokens: limit, left_tokens: left } = usage.data ?? {};
  const words = [
    cost > 0 ? money(cost) : "",
    limit && left !== undefined ? `${Math.round((left / limit) * 100)}% of the budget left` : "",
  ].filter(Boolean);
  if (!words.length) return null;
  return (
    <span
      className="tabular min-w-0 truncate px-1 text-xs text-ink-quiet"
      title="What this conversation cost, and what is left"
    >
      {words.join(" · ")}
    </span>
  );
}

/** A conversation: its thread, and the composer below. */
export function ConversationView({ log, session }: { log: Log; session: Session }) {
  useEffect(() => log.follow(), [log]);
  const running = useLog(log, (c) => c.turns.length > 0 && busy(c));
  const sources = useLog(log, (c) => c.sources);
  const explores = useLog(log, (c) => c.assistant === "explore");
  const open = useLocal().files;
  const title = useLog(log, (c) => c.title);
  const line = useLine(log).state;
  const off =
    line === "waiting"
      ? "the server does not answer"
      : line === "refused"
        ? "this conversation cannot be reached"
        : undefined;
  useEffect(() => {
    document.title = title ? `${title} · Footnote` : "Footnote";
    return () => void (document.title = "Footnote");
  }, [title]);
  // A title and an end are news for the list.
  useEffect(() => void refresh(), [title, running]);
  return (
    <div className="flex min-h-0 flex-1 flex-col print:block">
      <Thread log={log} />
      <div className="mx-auto w-full max-w-thread px-5 pb-4 print:hidden">
        {explores ? (
          <Boundary>
            <Suspense fallback={null}>
              <LocalFiles
                log={log}
                offline={session.offline}
                asked={open.length > 0 && told.get(log.id) !== schemaText(open)}
              />
            </Suspense>
          </Boundary>
        ) : (
          <Dropped key={log.id} />
        )}
        <Composer
          key={log.id}
          name={log.id}
          autoFocus
          placeholder="Ask the next question"
          running={running}
          off={off ?? (explores ? opening(open) : undefined)}
          onSend={(text, context) => (explores ? askOfFiles(log, text, context) : askNext(log, text, context))}
          sources={sources}
          tables={explores ? named(open) : undefined}
          onStop={() => api.stop(log.id)}
          fixed={
            <>
              {sources.length > 0 && (
                <span className="inline-flex h-8 min-w-0 items-center gap-1.5 px-2 text-sm text-ink-quiet">
                  <Icon name="database" small />
                  <span className="truncate">{sources.join(", ")}</span>
                </span>
              )}
              <Spent log={log} running={running} />
            </>
          }
        />
      </div>
    </div>
  );
}
