// The chart of one symbol and timeframe, with tools around it, the chat to the left and the drawings to the right.
// `doc` is the document with the drawings, `held` has the tool and the selected drawing, `place` the part of the chart
// to show, `parts` the chart itself, and `actions` what keys, menus and buttons do.
import { Suspense, useCallback, useEffect, useRef, useState, useSyncExternalStore } from "react";
import { lazyComponent } from "../lib/later";
import { useWide } from "../lib/media";
import { go, type Route } from "../lib/router";
import { Boundary } from "../ui/Boundary";
import { docOf, type Doc } from "./doc";
import { chartActions } from "./does";
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

const Talk = lazyComponent(() => import("./Talk"));

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
  const [announcement, announce] = useState("");
  const actions = chartActions({ info, timeframe, doc, parts, held, talk, announce });
  usePageKeys(actions);
  const onKey = useChartKeys({ parts, doc, timeframe, tool: chosen.tool, id: chosen.id, actions });
  const reveal = useReveal(doc, parts, held, talk);
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
          onSee={reveal}
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
      onChoose={reveal}
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
            actions={actions}
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
        held={held}
        now={parts?.plot.middle()}
        onDate={(around) => void place.show(parts, { around }, timeframe)}
      />
    </>
  );
}

/** Returns a function that selects a drawing and scrolls to it. On a narrow screen it closes what covers the chart. */
function useReveal(doc: Doc, parts: Parts | undefined, { choose }: Held, { show }: Talking): (id: string) => void {
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
  /** The time in the middle of the chart. */
  now: number | undefined;
  onDate: (time: number) => void;
}

function Dialogs({ info, doc, held: { over, open }, now, onDate }: DialogsProps) {
  const close = () => open(undefined);
  if (over === "date") return <GoTo info={info} now={now} onGo={onDate} onClose={close} />;
  if (over === "keys") return <KeyList onClose={close} />;
  if (!over || !("edit" in over)) return null;
  const drawing = doc.find(over.edit);
  // The key is the id with which the dialog was opened, so that typed text survives when the server assigns an id.
  return drawing ? (
    <Edit key={over.edit} drawing={drawing} digits={info.digits} onSave={doc.offer} onClose={close} />
  ) : null;
}
