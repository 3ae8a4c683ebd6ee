// The chart of one symbol and timeframe, with tools around it, the chat to the left and the drawings to the right.
// `doc` is the document with the drawings, `interaction` has the tool and the selected drawing, `place` the part of the
// chart to show, `parts` the chart itself, and `actions` what keys, menus and buttons do.
import { Suspense, useCallback, useEffect, useRef, useState, useSyncExternalStore } from "react";
import { lazyComponent } from "../lib/lazy";
import { useWide } from "../lib/media";
import { go, type Route } from "../lib/router";
import { Boundary } from "../ui/Boundary";
import { docOf, type Doc } from "./doc";
import { chartActions } from "./actions";
import { useCrossings } from "./crossed";
import { Edit } from "./Edit";
import { Frame } from "./Frame";
import { GoTo } from "./GoTo";
import { useChartKeys, usePageKeys } from "./keys";
import { KeyList } from "./KeyList";
import { setPrefs, usePrefs } from "./prefs";
import { Rail } from "./Rail";
import { RangeBar } from "./RangeBar";
import { Side } from "./Side";
import { Stage } from "./Stage";
import { TopBar } from "./TopBar";
import { timeframes, type SymbolInfo, type Timeframe } from "./types";
import { useBoard, type Parts } from "./useBoard";
import { useInteraction, type Interaction } from "./useInteraction";
import { usePlace } from "./usePlace";
import { openChat, useChat, type ChatState } from "./useChat";

const Chat = lazyComponent(() => import("./Chat"));

interface Props {
  info: SymbolInfo;
  symbols: readonly SymbolInfo[];
  timeframe: Timeframe;
  at: Route;
  /** Whether the conversation to show is known. */
  chatKnown: boolean;
}

export function Board({ info, symbols, timeframe, at, chatKnown }: Props) {
  const doc = docOf(info.symbol);
  const state = useSyncExternalStore(doc.subscribe, doc.get);
  useEffect(() => doc.open(), [doc]);
  const interaction = useInteraction();
  const { chosen } = interaction;
  const place = usePlace(info, timeframe, at);
  const el = useRef<HTMLDivElement>(null);
  const parts = useBoard(el, info, timeframe, doc, chosen, {
    onChoose: interaction.choose,
    onEdit: interaction.edit,
    onDone: () => interaction.selectTool(undefined),
    wanted: place.wanted,
  });
  const chat = useChat(info.symbol, at.conversation, parts);
  const [announcement, announce] = useState("");
  const actions = chartActions({ info, timeframe, doc, parts, interaction, chat, announce });
  usePageKeys(actions);
  const onKey = useChartKeys({ parts, doc, timeframe, tool: chosen.tool, id: chosen.id, actions });
  const reveal = useReveal(doc, parts, interaction, chat, (time, t) => void place.show(parts, { around: time }, t));
  const { side } = usePrefs();
  const crossings = useCrossings(parts?.feed, state.drawings);

  const chatPanel = chatKnown && (
    <Boundary>
      <Suspense fallback={null}>
        <Chat
          at={at}
          symbol={info.symbol}
          timeframe={timeframe}
          digits={info.digits}
          doc={doc}
          crossings={crossings}
          onHighlight={interaction.highlight}
          onReveal={reveal}
          onClose={() => chat.setOpen(false)}
        />
      </Suspense>
    </Boundary>
  );
  const list = side && (
    <Side
      doc={doc}
      state={state}
      crossings={crossings}
      info={info}
      timeframe={timeframe}
      view={side}
      chosen={chosen.id}
      onChoose={reveal}
      onHighlight={interaction.highlight}
      onEdit={interaction.edit}
      onOpenConversation={(c) => (openChat(), go({ ...at, conversation: c }))}
    />
  );
  return (
    <>
      <Frame
        top={
          <TopBar
            info={info}
            symbols={symbols}
            timeframe={timeframe}
            doc={doc}
            state={state}
            chat={chat}
            onGo={(s, tf) => place.goTo(parts, s, tf)}
            actions={actions}
          />
        }
        chat={chat.open ? { children: chatPanel, onClose: () => chat.setOpen(false) } : undefined}
        list={list ? { children: list, onClose: () => setPrefs({ side: null }) } : undefined}
      >
        <Rail tool={chosen.tool} onSelectTool={interaction.selectTool} />
        <div className="@container flex min-h-0 min-w-0 flex-1 flex-col">
          <Stage
            el={el}
            info={info}
            timeframe={timeframe}
            doc={doc}
            state={state}
            parts={parts}
            interaction={interaction}
            place={place}
            actions={actions}
            onKey={onKey}
          />
          <RangeBar info={info} parts={parts} onShow={(w, tf) => void place.show(parts, w, tf)} onDate={actions.date} />
        </div>
      </Frame>
      <div role="status" aria-live="polite" className="sr-only">
        {announcement}
      </div>
      <Dialogs
        info={info}
        doc={doc}
        interaction={interaction}
        now={parts?.plot.middle()}
        onDate={(around) => void place.show(parts, { around }, timeframe)}
      />
    </>
  );
}

/** Returns a function that selects a drawing and scrolls to it. If it is too far after the last bar, it shows the
 *  timeframe on which it was drawn. On a narrow screen it closes what covers the chart. */
function useReveal(
  doc: Doc,
  parts: Parts | undefined,
  { reveal }: Interaction,
  { setOpen }: ChatState,
  onShow: (time: number, timeframe: Timeframe) => void,
): (id: string) => void {
  const wide = useWide();
  const show = useRef(onShow);
  show.current = onShow;
  return useCallback(
    (id) => {
      reveal(id);
      if (!wide) {
        setOpen(false);
        setPrefs({ side: null });
      }
      const { anchors, timeframe } = doc.find(id) ?? {};
      const time = anchors?.[0]?.time;
      if (time === undefined || !parts) return;
      const drawnOn = timeframes.find((t) => t === timeframe);
      if (drawnOn && !parts.plot.reaches(time)) show.current(time, drawnOn);
      else void parts.feed.reach(time).then(() => parts.plot.center(time));
    },
    [doc, parts, reveal, setOpen, wide],
  );
}

interface DialogsProps {
  info: SymbolInfo;
  doc: Doc;
  interaction: Interaction;
  /** The time in the middle of the chart. */
  now: number | undefined;
  onDate: (time: number) => void;
}

function Dialogs({ info, doc, interaction: { overlay, open }, now, onDate }: DialogsProps) {
  const close = () => open(undefined);
  if (overlay === "date") return <GoTo info={info} now={now} onGo={onDate} onClose={close} />;
  if (overlay === "keys") return <KeyList onClose={close} />;
  if (!overlay || !("edit" in overlay)) return null;
  const drawing = doc.find(overlay.edit);
  // The key is the id with which the dialog was opened, so that typed text survives when the server assigns an id.
  return drawing ? (
    <Edit key={overlay.edit} drawing={drawing} digits={info.digits} onSave={doc.trySave} onClose={close} />
  ) : null;
}
