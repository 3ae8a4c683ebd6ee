import { Suspense, useEffect, useMemo } from "react";
import { api, type Session } from "../api/client";
import { useLoad } from "../api/load";
import { lazyComponent } from "../lib/lazy";
import { Boundary } from "../ui/Boundary";
import { money } from "../lib/format";
import { Composer, queriesSources } from "../composer/Composer";
import { TierMenu } from "../composer/TierMenu";
import { busy } from "../log/conversation";
import { useConnection, useLog, type Log } from "../log/store";
import { Icon } from "../ui/Icon";
import { askNext } from "../thread/ask";
import { NextContext, type Next } from "../thread/context";
import { Thread } from "../thread/Thread";
import { refresh } from "./conversations";
import { schemaSent, sentSchema } from "./sentSchemas";
import { Dropped } from "../panes/files/Dropped";
import { examples } from "../panes/files/examples";
import { local, mentionableTables, openingReason, restore, schemaText, tables, useLocal } from "../panes/files/store";

const LocalFiles = lazyComponent(() => import("../panes/files/LocalFiles"));

/** Asks about the open files. Sends their schema along if it is new. */
async function askAboutFiles(log: Log, text: string, context: string | undefined): Promise<void> {
  await tables();
  const schema = local().files.length ? schemaText(local().files) : "";
  const changed = schema && sentSchema(log.id) !== schema ? schema : "";
  await askNext(log, text, [changed, context].filter(Boolean).join("\n") || undefined);
  if (changed) schemaSent(log.id, changed);
}

/** The cost of the conversation so far, and the remaining budget. */
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
      title="The cost of this conversation and your remaining budget"
    >
      {words.join(" · ")}
    </span>
  );
}

interface Props {
  log: Log;
  session: Session;
  /** Whether it is known what stands beside the thread. */
  known: boolean;
}

/** A conversation: its thread, and the composer below. */
export function ConversationView({ log, session, known: beside }: Props) {
  const running = useLog(log, (c) => c.turns.length > 0 && busy(c));
  // The field appears once it is known what stands above it and beside it, so that it does not move.
  const begun = useLog(log, (c) => c.last > 0 || c.assistant !== undefined);
  const sources = useLog(log, (c) => c.sources);
  const explores = useLog(log, (c) => c.assistant === "explore");
  const assistant = useLog(log, (c) => c.assistant);
  const assistants = useLoad("assistants", api.assistants);
  const { files: open, restored } = useLocal();
  useEffect(() => {
    if (explores) void restore();
  }, [explores]);
  const described = assistants.data?.assistants.find((a) => a.name === assistant);
  const next = useMemo(
    (): Next =>
      explores
        ? { ask: (text) => askAboutFiles(log, text, undefined), questions: examples(open.flatMap((f) => f.tables)) }
        : described && !queriesSources(described)
          ? { questions: described.examples ?? [], afterDecline: true }
          : {},
    [log, explores, described, open],
  );
  const title = useLog(log, (c) => c.title);
  const line = useConnection(log).state;
  const off =
    line === "waiting"
      ? "the server can't be reached"
      : line === "refused"
        ? "this conversation can't be opened"
        : undefined;
  useEffect(() => {
    document.title = title ? `${title} · Footnote` : "Footnote";
    return () => void (document.title = "Footnote");
  }, [title]);
  // The list shows titles and which conversations are running.
  useEffect(() => void refresh(), [title, running]);
  const composer = (
    <Composer
      key={log.id}
      name={log.id}
      autoFocus
      placeholder="Ask the next question"
      running={running}
      off={off ?? (explores ? openingReason(open) : undefined)}
      onSend={(text, context) => (explores ? askAboutFiles(log, text, context) : askNext(log, text, context))}
      sources={sources}
      tables={explores ? mentionableTables(open) : undefined}
      onStop={() => api.stop(log.id)}
      fixed={
        <>
          {sources.length > 0 && (
            <span className="inline-flex h-8 min-w-0 items-center gap-1.5 px-2 text-sm text-ink-quiet">
              <Icon name="database" small />
              <span className="truncate">{sources.join(", ")}</span>
            </span>
          )}
          <TierMenu log={log} assistant={described} />
          <Spent log={log} running={running} />
        </>
      }
    />
  );
  return (
    <div className="flex min-h-0 flex-1 flex-col print:block">
      <NextContext value={next}>
        <Thread key={log.id} log={log} skeleton={beside} />
      </NextContext>
      {begun && (restored || !explores) && (
        <div className="mx-auto w-full max-w-thread px-5 pb-4 print:hidden">
          {explores ? (
            <Boundary instead={composer}>
              <Suspense fallback={null}>
                <LocalFiles
                  log={log}
                  offline={session.offline}
                  asked={open.length > 0 && sentSchema(log.id) !== schemaText(open)}
                />
                {composer}
              </Suspense>
            </Boundary>
          ) : (
            <>
              <Dropped key={log.id} />
              {composer}
            </>
          )}
        </div>
      )}
    </div>
  );
}
