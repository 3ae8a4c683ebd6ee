// A conversation beside one of its results. Everything that the start page does not need is loaded with it.
import { useEffect, useState } from "react";
import type { Session } from "../api/client";
import { mainResult } from "../log/conversation";
import { useConnection, useLog, useMissing, type Log } from "../log/store";
import { go, type Route } from "../lib/router";
import { useClientTools } from "../panes/files/clientTools";
import { IconButton } from "../ui/Button";
import { Icon } from "../ui/Icon";
import { NotFound } from "../ui/NotFound";
import { ConversationMenu } from "./ConversationMenu";
import { ConversationView } from "./ConversationView";
import { useConversations } from "./conversations";
import { Header, Page } from "./Page";
import { Panes } from "./Panes";
import { preloadResult, RightPane } from "./RightPane";

interface Props {
  log: Log;
  at: Route;
  wide: boolean;
  list: boolean;
  showList: () => void;
  session: Session;
}

export default function ConversationPage({ log, at, wide, list, showList, session }: Props) {
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
    <Panes wide={wide} right={pane && <RightPane log={log} result={shown} at={at} session={session} onClose={close} />}>
      <Header list={list} showList={showList}>
        <Bar
          title={title || (refused ? "Not available" : "New question")}
          log={log}
          files={coder ? at.view === "files" : undefined}
          pane={pane}
          onPane={coder ? undefined : () => (pane ? close() : setClosed(undefined))}
        />
      </Header>
      <ConversationView log={log} session={session} known={assistant !== undefined} />
    </Panes>
  );
}

interface BarProps {
  title: string;
  log: Log;
  /** Whether the files of the workspace are shown. Undefined if the conversation has no workspace. */
  files?: boolean;
  pane: boolean;
  onPane?: () => void;
}

/** The title of a conversation, its menu and the buttons for what is beside it. */
function Bar({ title, log, files, pane, onPane }: BarProps) {
  return (
    <>
      <h1 dir="auto" className="min-w-0 flex-1 truncate px-2 text-left text-sm font-medium text-ink-soft">
        {title}
      </h1>
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
  );
}
