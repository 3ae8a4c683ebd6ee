import { lazy, Suspense, useEffect } from "react";
import { api } from "../api/client";
import { useLoad } from "../api/load";
import { money } from "../lib/format";
import { Composer } from "../composer/Composer";
import { busy } from "../log/conversation";
import { useLine, useLog, type Log } from "../log/store";
import { Icon } from "../ui/Icon";
import { askNext } from "../thread/ask";
import { Thread } from "../thread/Thread";
import { refresh } from "./conversations";
import { local, schemaText, tables } from "../panes/files/store";

const LocalFiles = lazy(() => import("../panes/files/LocalFiles"));

// What conversations were told of the files, so that it is said again only when it
// has changed.
const told = new Map<string, string>();

async function files(conversation: string): Promise<string | undefined> {
  await tables();
  const schema = local().files.length ? schemaText(local().files) : "";
  if (!schema || told.get(conversation) === schema) return undefined;
  told.set(conversation, schema);
  return schema;
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
  const words = [cost > 0 ? money(cost) : "", limit && left !== undefined ? `${Math.round((left / limit) * 100)}% of the budget left` : ""].filter(Boolean);
  if (!words.length) return null;
  return (
    <span className="tabular min-w-0 truncate px-1 text-xs text-ink-quiet" title="What this conversation cost, and what is left">
      {words.join(" · ")}
    </span>
  );
}

/** A conversation: its thread, and the composer below. */
export function ConversationView({ log }: { log: Log }) {
  useEffect(() => log.follow(), [log]);
  const running = useLog(log, (c) => c.turns.length > 0 && busy(c));
  const sources = useLog(log, (c) => c.sources);
  const explores = useLog(log, (c) => c.assistant === "explore");
  const title = useLog(log, (c) => c.title);
  const line = useLine(log).state;
  const off = line === "waiting" ? "the server does not answer" : line === "refused" ? "this conversation cannot be reached" : undefined;
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
        {explores && (
          <Suspense fallback={null}>
            <LocalFiles log={log} />
          </Suspense>
        )}
        <Composer
          key={log.id}
          name={log.id}
          autoFocus
          placeholder="Ask the next question"
          running={running}
          off={off}
          onSend={async (text, context) => askNext(log, text, explores ? await files(log.id) : context)}
          sources={sources}
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
