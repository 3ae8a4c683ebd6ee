// The chat beside the chart, with the conversations about charts.
import { useCallback, useEffect, useMemo, useState } from "react";
import { api, errorMessage, type Assistant, type ConversationHead } from "../api/client";
import { useLoad } from "../api/load";
import { Composer } from "../composer/Composer";
import { TierMenu } from "../composer/TierMenu";
import { money, plural, listTime, tokensWithWeight } from "../lib/format";
import { useWide } from "../lib/media";
import { go, type Route } from "../lib/router";
import { busy, tokensOf, type ToolPart } from "../log/conversation";
import { logOf, useConnection, useLog, type Log } from "../log/store";
import { refresh, useConversations } from "../shell/conversations";
import { askNext, startConversation } from "../thread/ask";
import { CardContext, NextContext } from "../thread/context";
import { Thread } from "../thread/Thread";
import { HomeLink } from "../ui/HomeLink";
import { Icon } from "../ui/Icon";
import { IconButton } from "../ui/Button";
import { Popover } from "../ui/Popover";
import { chartPage } from "./address";
import { isDrawing } from "./calls";
import type { Crossings } from "./crossed";
import type { Doc } from "./doc";
import { DrawingCard } from "./DrawingCard";
import { ChartIcon } from "./icons";
import type { Change, Timeframe } from "./types";
import { Unseen } from "./Unseen";

interface ChatProps {
  at: Route;
  symbol: string;
  timeframe: Timeframe;
  digits: number;
  doc: Doc;
  crossings: Crossings;
  onHighlight: (id: string | undefined, change?: Change) => void;
  onReveal: (id: string) => void;
  onClose: () => void;
}

export default function Chat(p: ChatProps) {
  const { at, symbol, timeframe } = p;
  const log = useMemo(() => (at.conversation ? logOf(at.conversation) : undefined), [at.conversation]);
  const assistants = useLoad("assistants", api.assistants);
  const chart = assistants.data?.assistants.find((a) => a.name === "chart");
  const to = useCallback(
    (conversation: string | undefined) => go({ ...chartPage(symbol, timeframe), conversation }),
    [symbol, timeframe],
  );
  const [tier, setTier] = useState<string>();
  useEffect(() => void refresh(), []);
  return (
    <>
      <header className="flex h-(--header) shrink-0 items-center gap-1 border-b px-2">
        <HomeLink short />
        <ChatList now={log} onGo={to} />
        <IconButton icon="plus" label="New conversation" onClick={() => to(undefined)} />
        <Close onClose={p.onClose} />
      </header>
      <Unseen doc={p.doc} digits={p.digits} onReveal={p.onReveal} />
      {log ? (
        <Conversation key={log.id} {...p} log={log} chart={chart} />
      ) : (
        <NewConversation {...p} chart={chart} tier={tier} onTier={setTier} error={assistants.error} onOpen={to} />
      )}
    </>
  );
}

/** The button that hides the chat. If the chat covers the chart, it is labelled "Chart". */
function Close({ onClose }: { onClose: () => void }) {
  const wide = useWide();
  if (wide) return <IconButton icon="close" label="Hide the chat" onClick={onClose} />;
  return (
    <button
      type="button"
      onClick={onClose}
      className="flex h-9 shrink-0 items-center gap-1.5 rounded-md bg-hover px-3 text-sm font-medium"
    >
      <ChartIcon name="candles" small />
      Chart
    </button>
  );
}

const suggestions = [
  "Draw support and resistance",
  "Draw the trendline of the last swing",
  "Draw a fib from the last high to the last low",
  "Move support down to the last swing low",
  "What's coming up today?",
  "How did I do last month?",
];

interface NewConversationProps extends ChatProps {
  chart: Assistant | undefined;
  tier: string | undefined;
  onTier: (tier: string) => void;
  error?: string;
  onOpen: (conversation: string) => void;
}

/** The chat before the first question. */
function NewConversation({ symbol, timeframe, chart, tier, onTier, error, onOpen }: NewConversationProps) {
  const [failed, setFailed] = useState("");
  const off = chart && !chart.available ? (chart.reason ?? "The assistant is not available.") : undefined;
  const ask = async (text: string) => {
    await startConversation({ text, assistant: "chart", tier, context: { symbol, timeframe } }, onOpen);
    void refresh();
  };
  return (
    <div className="flex min-h-0 flex-1 flex-col">
      <div className="min-h-0 flex-1 overflow-y-auto px-5 py-6">
        <h2 className="font-serif text-lg font-medium">Ask about {symbol}</h2>
        <p className="mt-1 text-sm text-ink-soft">
          The assistant reads the market, draws on the chart and explains why. You can undo each change.
        </p>
        {off && <p className="mt-3 rounded-md bg-sunken px-3 py-2 text-sm text-ink-soft">{off}</p>}
        <ul className="mt-4">
          {suggestions.map((o) => (
            <li key={o} className="border-b">
              <button
                type="button"
                disabled={off !== undefined}
                onClick={() => ask(o).catch((err: unknown) => setFailed(errorMessage(err)))}
                className="group flex min-h-11 w-full items-center gap-3 rounded-sm py-2 text-left text-sm text-ink-soft enabled:hover:text-ink disabled:text-ink-quiet"
              >
                <span className="flex-1">{o}</span>
                <Icon name="chevron" small className="text-ink-quiet group-enabled:group-hover:text-accent" />
              </button>
            </li>
          ))}
        </ul>
        {(error || failed) && (
          <p role="alert" className="mt-4 text-sm text-bad">
            {error || failed}
          </p>
        )}
      </div>
      <div className="px-3 pb-3">
        <Composer
          name={`chart ${symbol}`}
          placeholder={`Ask about ${symbol}`}
          onSend={ask}
          off={off}
          fixed={<Tiers chart={chart} now={tier} onChoose={onTier} />}
        />
      </div>
    </div>
  );
}

/** The buttons to choose one of the assistant's tiers. */
function Tiers({
  chart,
  now,
  onChoose,
}: {
  chart: Assistant | undefined;
  now: string | undefined;
  onChoose: (tier: string) => void;
}) {
  const tiers = chart?.tiers ?? [];
  if (tiers.length < 2) return null;
  return (
    <div role="group" aria-label="Model" className="flex rounded-full border p-0.5">
      {tiers.map((t) => (
        <button
          key={t.name}
          type="button"
          title={t.model}
          aria-pressed={(now ?? chart?.default_tier) === t.name}
          onClick={() => onChoose(t.name)}
          className="h-6 rounded-full px-2.5 text-xs text-ink-quiet first-letter:uppercase hover:text-ink aria-pressed:bg-accent-soft aria-pressed:font-medium aria-pressed:text-accent"
        >
          {t.name}
        </button>
      ))}
    </div>
  );
}

interface ConversationProps extends ChatProps {
  log: Log;
  chart: Assistant | undefined;
}

function Conversation({
  log,
  chart,
  symbol,
  timeframe,
  digits,
  doc,
  crossings,
  onHighlight,
  onReveal,
}: ConversationProps) {
  const running = useLog(log, (c) => c.turns.length > 0 && busy(c));
  const title = useLog(log, (c) => c.title);
  useEffect(() => void refresh(), [title, running]);
  const connection = useConnection(log).state;
  const off =
    connection === "waiting"
      ? "the server can't be reached"
      : connection === "refused"
        ? "this conversation can't be opened"
        : undefined;
  const next = useMemo(
    () => ({
      ask: (text: string) => askNext(log, text, { symbol, timeframe }),
      questions: suggestions,
      afterDecline: true,
    }),
    [log, symbol, timeframe],
  );
  const card = useCallback(
    (p: ToolPart) =>
      isDrawing(p) ? (
        <DrawingCard
          key={p.key}
          part={p}
          doc={doc}
          crossings={crossings}
          digits={digits}
          onHighlight={onHighlight}
          onReveal={onReveal}
        />
      ) : null,
    [doc, crossings, digits, onHighlight, onReveal],
  );
  return (
    <div className="flex min-h-0 flex-1 flex-col">
      <CardContext value={card}>
        <NextContext value={next}>
          <Thread log={log} />
        </NextContext>
      </CardContext>
      <div className="px-3 pb-3">
        <Composer
          name={log.id}
          placeholder="Ask the next question"
          running={running}
          off={off}
          onSend={next.ask}
          onStop={() => api.stop(log.id)}
          fixed={
            <>
              <TierMenu log={log} assistant={chart} />
              <Facts log={log} />
            </>
          }
        />
      </div>
    </div>
  );
}

/** The model of the conversation, and its tokens and cost so far. */
function Facts({ log }: { log: Log }) {
  const cost = useLog(log, (c) => c.turns.reduce((sum, t) => sum + (t.cost?.micro_usd ?? 0), 0));
  const tokens = useLog(log, (c) => c.turns.reduce((sum, t) => sum + tokensOf(t), 0));
  const weighted = useLog(log, (c) => c.turns.reduce((sum, t) => sum + tokensOf(t) * (t.weight ?? 1), 0));
  const model = useLog(log, (c) => c.turns.findLast((t) => t.model)?.model ?? c.model ?? "");
  const words = [model, tokens ? tokensWithWeight(tokens, weighted) : "", cost ? money(cost) : ""].filter(Boolean);
  return <span className="tabular min-w-0 truncate px-1 text-xs text-ink-quiet">{words.join(" · ")}</span>;
}

/** The menu of conversations about charts. Its button shows the title of the current one. */
function ChatList({ now, onGo }: { now: Log | undefined; onGo: (conversation: string) => void }) {
  const [anchor, setAnchor] = useState<HTMLElement | null>(null);
  const { items, error } = useConversations();
  const conversations = items.filter((c) => c.assistant === "chart");
  const title = conversations.find((c) => c.id === now?.id)?.title;
  return (
    <>
      <button
        type="button"
        aria-haspopup="dialog"
        aria-expanded={anchor !== null}
        onClick={(e) => setAnchor(anchor ? null : e.currentTarget)}
        className="flex h-9 min-w-0 flex-1 items-center gap-1.5 rounded-md px-2 text-left text-sm font-medium hover:bg-hover"
      >
        <span className="min-w-0 truncate" dir="auto">
          {now ? title || "Conversation" : "New conversation"}
        </span>
        <Icon name="down" small className="shrink-0 text-ink-quiet" />
      </button>
      <Popover
        anchor={anchor}
        onClose={() => setAnchor(null)}
        label="Conversations about charts"
        className="max-h-(--menu-max) w-(--side) overflow-y-auto p-1"
      >
        {!conversations.length && (
          <p className="px-3 py-3 text-sm text-ink-quiet">{error ?? "Conversations about charts will appear here."}</p>
        )}
        <ul>
          {conversations.map((c) => (
            <li key={c.id}>
              <Head
                c={c}
                now={c.id === now?.id}
                onGo={() => {
                  setAnchor(null);
                  onGo(c.id);
                }}
              />
            </li>
          ))}
        </ul>
      </Popover>
    </>
  );
}

function Head({ c, now, onGo }: { c: ConversationHead; now: boolean; onGo: () => void }) {
  const details = useLoad(`conversation:${c.id}:${c.updated}`, () => api.conversation(c.id)).data;
  const u = details?.usage;
  const tokens = u ? u.input_tokens + u.output_tokens + u.cache_read_tokens + u.cache_write_tokens : 0;
  const facts = [
    details?.where?.symbol,
    details?.where?.timeframe,
    details ? plural(details.messages, "message") : "",
    u && tokens ? tokensWithWeight(tokens, u.weighted_tokens) : "",
    listTime(c.updated),
  ];
  return (
    <button
      type="button"
      aria-current={now || undefined}
      onClick={onGo}
      className="block w-full rounded-md px-2 py-1.5 text-left text-sm hover:bg-hover aria-[current]:bg-hover"
    >
      <span className="flex items-center gap-2">
        <span className="min-w-0 flex-1 truncate" dir="auto">
          {c.title || "Untitled"}
        </span>
        {c.state === "running" && <Icon name="spinner" small className="turning text-accent" />}
        {c.state === "parked" && (
          <span className="size-2 shrink-0 rounded-full bg-warn" role="img" aria-label="waiting" />
        )}
      </span>
      <span className="tabular block truncate text-xs text-ink-quiet">{facts.filter(Boolean).join(" · ")}</span>
    </button>
  );
}
