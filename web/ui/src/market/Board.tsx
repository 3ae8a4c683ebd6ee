// One symbol and timeframe on the screen: bars above, tools around, the chat to the left
// and the drawings to the right. The document says what is drawn, held what a person has
// in hand, place where the chart is to go. The parts are the chart that follows them, and
// does is what keys, menus and buttons do to all of it.
import { Suspense, useCallback, useEffect, useRef, useState, useSyncExternalStore } from "react";
import { later } from "../lib/later";
import { useWide } from "../lib/media";
import { go, type Route } from "../lib/router";
import { Boundary } from "../ui/Boundary";
import { docOf, type Doc } from "./doc";
import { doing } from "./does";
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
import type { SymbolInfo, Timeframe } from "./types";
import { useBoard, type Parts } from "./useBoard";
import { useHeld, type Held } from "./useHeld";
import { usePlace } from "./usePlace";
import { openTalk, useTalk, type Talking } from "./useTalk";

const Talk = later(() => import("./Talk"));

interface Props {
  info: SymbolInfo;
  symbols: readonly SymbolInfo[];
  timeframe: Timeframe;
  at: Route;
}

export function Board({ info, symbols, timeframe, at }: Props) {
  const doc = docOf(info.symbol);
  const state = useSyncExternalStore(doc.subscribe, doc.get);
  useEffect(() => doc.open(), [doc]);
  const held = useHeld();
  const { chosen } = held;
  const place = usePlace(info, timeframe, at);
  const el = useRef<HTMLDivElement>(null);
  const parts = useBoard(el, info, timeframe, doc, chosen, {
    onChoose: held.choose,
    onEdit: held.edit,
    onDone: () => held.take(undefined),
    wanted: place.wanted,
  });
  const talk = useTalk(at.conversation, parts);
  const [said, say] = useState("");
  const does = doing({ info, timeframe, doc, parts, held, talk, say });
  usePageKeys(does);
  const onKey = useChartKeys({ parts, doc, timeframe, tool: chosen.tool, id: chosen.id, does });
  const see = useSee(doc, parts, held, talk);
  const { side } = usePrefs();

  const chat = (
    <Boundary>
      <Suspense fallback={null}>
        <Talk
          at={at}
          symbol={info.symbol}
          timeframe={timeframe}
          digits={info.digits}
          doc={doc}
          onLight={held.light}
          onSee={see}
          onClose={() => talk.show(false)}
        />
      </Suspense>
    </Boundary>
  );
  const list = side && (
    <Side
      doc={doc}
      state={state}
      info={info}
      timeframe={timeframe}
      view={side}
      chosen={chosen.id}
      onChoose={see}
      onLight={held.light}
      onEdit={held.edit}
      onTalk={(c) => (openTalk(), go({ ...at, conversation: c }))}
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
            talk={talk}
            onGo={(s, tf) => place.goTo(parts, s, tf)}
            does={does}
          />
        }
        chat={talk.on ? { children: chat, onClose: () => talk.show(false) } : undefined}
        list={list ? { children: list, onClose: () => setPrefs({ side: null }) } : undefined}
      >
        <Rail tool={chosen.tool} onTake={held.take} />
        <div className="flex min-h-0 min-w-0 flex-1 flex-col">
          <Stage
            el={el}
            info={info}
            timeframe={timeframe}
            doc={doc}
            state={state}
            parts={parts}
            held={held}
            place={place}
            does={does}
            onKey={onKey}
          />
          <RangeBar info={info} parts={parts} onShow={(w, tf) => void place.show(parts, w, tf)} onDate={does.date} />
        </div>
      </Frame>
      <div role="status" aria-live="polite" className="sr-only">
        {said}
      </div>
      <Dialogs
        info={info}
        doc={doc}
        held={held}
        now={parts?.plot.middle()}
        onDate={(around) => void place.show(parts, { around }, timeframe)}
      />
    </>
  );
}

/** Chooses a drawing and brings it into view; nothing may cover the chart then. */
function useSee(doc: Doc, parts: Parts | undefined, { choose }: Held, { show }: Talking): (id: string) => void {
  const wide = useWide();
  return useCallback(
    (id) => {
      choose(id);
      if (!wide) {
        show(false);
        setPrefs({ side: null });
      }
      const time = doc.find(id)?.anchors?.[0]?.time;
      if (time !== undefined && parts) void parts.feed.reach(time).then(() => parts.plot.center(time));
    },
    [doc, parts, choose, show, wide],
  );
}

interface DialogsProps {
  info: SymbolInfo;
  doc: Doc;
  held: Held;
  /** The time that the chart shows. */
  now: number | undefined;
  onDate: (time: number) => void;
}

function Dialogs({ info, doc, held: { over, open }, now, onDate }: DialogsProps) {
  const close = () => open(undefined);
  if (over === "date") return <GoTo info={info} now={now} onGo={onDate} onClose={close} />;
  if (over === "keys") return <KeyList onClose={close} />;
  if (!over || !("edit" in over)) return null;
  const drawing = doc.find(over.edit);
  // Keyed by the id it was opened with: what is typed outlasts the id that the server gives.
  return drawing ? (
    <Edit key={over.edit} drawing={drawing} digits={info.digits} onSave={doc.offer} onClose={close} />
  ) : null;
}
