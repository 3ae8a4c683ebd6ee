// The imperative parts of the page, created for each symbol and timeframe: chart, input and feed, connected to the
// document of drawings.
import { useEffect, useRef, useState, type RefObject } from "react";
import { useDark } from "../lib/theme";
import { Observable } from "../lib/observable";
import type { Doc } from "./doc";
import { tools } from "./edit";
import { Feed } from "./feed";
import { DrawingInput } from "./drawingInput";
import { Plot } from "./plot";
import { prefs, usePrefs } from "./prefs";
import type { Wanted } from "./ranges";
import type { Point } from "./shape";
import type { Bar, Drawing, SymbolInfo, Timeframe } from "./types";

interface Pointed {
  bar?: Bar;
  point?: Point;
}

export interface Parts {
  plot: Plot;
  input: DrawingInput;
  feed: Feed;
  pointed: Observable<Pointed>;
  /** Changes whenever the visible range changes. */
  moves: Observable<number>;
}

export interface Chosen {
  tool?: string;
  id?: string; // of the selected drawing
  revealed?: string; // the price scale fits this drawing, too
  highlighted?: string; // the pointer is on its entry in a list
  ghost?: Drawing; // as it was before the change that the pointer is on
}

interface BoardEvents {
  onChoose: (id: string | undefined) => void;
  onEdit: (id: string) => void;
  onDone: () => void;
  /** Returns the range to show once the bars are loaded, and clears it. */
  wanted: () => Wanted | undefined;
}

export function useBoard(
  el: RefObject<HTMLDivElement | null>,
  info: SymbolInfo,
  timeframe: Timeframe,
  doc: Doc,
  chosen: Chosen,
  on: BoardEvents,
): Parts | undefined {
  const [built, setBuilt] = useState<Parts>();
  // After the timeframe changes, the parts of the old one must not be used.
  const parts = built?.feed.timeframe === timeframe ? built : undefined;
  const now = useRef({ chosen, on });
  now.current = { chosen, on };
  const { kind, spread, volume, magnet, events, drawings } = usePrefs();
  const dark = useDark();

  useEffect(() => {
    let end: (() => void) | undefined;
    // A separate task, to avoid one long task.
    const timer = setTimeout(() => {
      const board = build(el.current!, info, timeframe, doc, () => now.current);
      end = board.end;
      setBuilt(board.parts);
    });
    return () => {
      clearTimeout(timer);
      end?.();
    };
  }, [el, info, timeframe, doc]);

  useEffect(() => parts?.plot.theme(), [parts, dark]);
  useEffect(() => parts?.plot.setKind(kind), [parts, kind]);
  useEffect(() => parts?.plot.setSpread(spread), [parts, spread]);
  useEffect(() => parts?.plot.showVolume(volume), [parts, volume]);
  useEffect(() => {
    if (parts) parts.input.magnet = magnet;
  }, [parts, magnet]);
  useEffect(() => parts?.plot.events.hide(!events), [parts, events]);
  useEffect(() => parts?.input.setTool(tools.find((t) => t.id === chosen.tool)), [parts, chosen.tool]);
  useEffect(() => {
    if (!parts) return;
    const { layer } = parts.plot;
    layer.chosen = chosen.id && doc.idOf(chosen.id);
    layer.highlighted = chosen.highlighted && doc.idOf(chosen.highlighted);
    layer.revealed = chosen.revealed && doc.idOf(chosen.revealed);
    layer.ghost = chosen.ghost;
    layer.show(drawings ? doc.get().drawings : [], timeframe);
  }, [parts, chosen.id, chosen.highlighted, chosen.revealed, chosen.ghost, doc, drawings, timeframe]);
  return parts;
}

const day = 86_400;

/** Shows a range, and loads older bars for it. Returns the time of the first bar if it is later than the wanted time. */
export async function seek({ plot, feed }: Pick<Parts, "plot" | "feed">, wanted: Wanted): Promise<number | undefined> {
  const newest = plot.bars.at(plot.bars.length - 1);
  if (!newest) return undefined;
  const time = "around" in wanted ? wanted.around : newest.time - wanted.days * day;
  await Promise.all([feed.reach(time), plot.sized()]);
  if (plot.removed) return undefined; // the timeframe was changed
  if ("around" in wanted) plot.center(time);
  else plot.since(time);
  const first = plot.bars.at(0)!.time;
  return "around" in wanted && first > time ? first : undefined;
}

function build(
  el: HTMLElement,
  info: SymbolInfo,
  timeframe: Timeframe,
  doc: Doc,
  now: () => { chosen: Chosen; on: BoardEvents },
): { parts: Parts; end: () => void } {
  const pointed = new Observable<Pointed>({});
  const moves = new Observable(0);
  const plot = new Plot(el, prefs().kind, timeframe, info.digits, {
    onPoint: (bar, point) => pointed.set({ bar, point }),
    onOlder: () => void feed.older(),
    onView: () => moves.set(moves.get() + 1),
  });
  const feed = new Feed(info.symbol, timeframe, {
    onFirst: (bars, older) => {
      plot.show(bars, older);
      const wanted = now().on.wanted();
      if (wanted) void seek({ plot, feed }, wanted);
    },
    onOlder: (bars, older) => plot.prepended(bars, older),
    onLast: (bars) => plot.last(bars),
    onEvents: (events) => plot.setEvents(events),
  });
  const input = new DrawingInput(plot, info.symbol, timeframe, {
    onMade: (d) => {
      const id = doc.add(d);
      now().on.onChoose(id);
      if (d.type === "text") now().on.onEdit(id); // to enter its text
    },
    onChanged: doc.save,
    onChoose: (id) => now().on.onChoose(id),
    onEdit: (id) => now().on.onEdit(id),
    onDone: () => now().on.onDone(),
    drawing: doc.find,
  });
  // The layer is updated directly and not by React, so that a dropped drawing does not jump back for a frame.
  const stop = doc.subscribe(() => {
    plot.layer.chosen = now().chosen.id && doc.idOf(now().chosen.id!);
    plot.layer.show(prefs().drawings ? doc.get().drawings : [], timeframe);
  });
  const end = feed.start();
  return {
    parts: { plot, input, feed, pointed, moves },
    end: () => {
      end();
      stop();
      input.remove();
      plot.remove();
    },
  };
}
