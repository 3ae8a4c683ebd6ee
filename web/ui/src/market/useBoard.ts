// The imperative half of the page, made once for each symbol and timeframe: chart,
// pointer and feed, tied to the document of drawings.
import { useEffect, useRef, useState, type RefObject } from "react";
import { useDark } from "../lib/theme";
import { Cell } from "./cell";
import type { Doc } from "./doc";
import { tools } from "./edit";
import { Feed } from "./feed";
import { Hand } from "./hand";
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
  hand: Hand;
  feed: Feed;
  pointed: Cell<Pointed>;
  /** Changes whenever what is seen has moved. */
  moves: Cell<number>;
}

export interface Chosen {
  tool?: string;
  id?: string; // of the chosen drawing
  lit?: string; // pointed at in a list
  ghost?: Drawing; // before a change that is pointed at
}

interface Does {
  onChoose: (id: string | undefined) => void;
  onEdit: (id: string) => void;
  onDone: () => void;
  /** What is to be seen once the bars are there; asked for once. */
  wanted: () => Wanted | undefined;
}

export function useBoard(
  el: RefObject<HTMLDivElement | null>,
  info: SymbolInfo,
  timeframe: Timeframe,
  doc: Doc,
  chosen: Chosen,
  does: Does,
): Parts | undefined {
  const [made, setMade] = useState<Parts>();
  // With another timeframe the old parts are gone before the new ones are here.
  const parts = made?.feed.timeframe === timeframe ? made : undefined;
  const now = useRef({ chosen, does });
  now.current = { chosen, does };
  const { kind, spread, volume, magnet, events, drawings } = usePrefs();
  const dark = useDark();

  useEffect(() => {
    let end: (() => void) | undefined;
    // In a task of its own: with the page's it would be a long one.
    const later = setTimeout(() => {
      const made = build(el.current!, info, timeframe, doc, () => now.current);
      end = made.end;
      setMade(made.parts);
    });
    return () => {
      clearTimeout(later);
      end?.();
    };
  }, [el, info, timeframe, doc]);

  useEffect(() => parts?.plot.theme(), [parts, dark]);
  useEffect(() => parts?.plot.setKind(kind), [parts, kind]);
  useEffect(() => parts?.plot.spread(spread), [parts, spread]);
  useEffect(() => parts?.plot.showVolume(volume), [parts, volume]);
  useEffect(() => {
    if (parts) parts.hand.magnet = magnet;
  }, [parts, magnet]);
  useEffect(() => parts?.plot.events.hide(!events), [parts, events]);
  useEffect(() => parts?.hand.take(tools.find((t) => t.id === chosen.tool)), [parts, chosen.tool]);
  useEffect(() => {
    if (!parts) return;
    const { layer } = parts.plot;
    layer.chosen = chosen.id && doc.idOf(chosen.id);
    layer.lit = chosen.lit && doc.idOf(chosen.lit);
    layer.ghost = chosen.ghost;
    layer.show(drawings ? doc.get().drawings : [], timeframe);
  }, [parts, chosen.id, chosen.lit, chosen.ghost, doc, drawings, timeframe]);
  return parts;
}

const day = 86_400;

/** Shows what is wanted, with older bars loaded for it. The time of the first bar, when
 *  it is later than that. */
export async function seek({ plot, feed }: Pick<Parts, "plot" | "feed">, wanted: Wanted): Promise<number | undefined> {
  const newest = plot.bars.at(plot.bars.length - 1);
  if (!newest) return undefined;
  const time = "around" in wanted ? wanted.around : newest.time - wanted.days * day;
  await Promise.all([feed.reach(time), plot.sized()]);
  if (plot.gone) return undefined; // another timeframe was chosen meanwhile
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
  now: () => { chosen: Chosen; does: Does },
): { parts: Parts; end: () => void } {
  const pointed = new Cell<Pointed>({});
  const moves = new Cell(0);
  const plot = new Plot(el, prefs().kind, timeframe, info.digits, {
    onPoint: (bar, point) => pointed.set({ bar, point }),
    onOlder: () => void feed.older(),
    onView: () => moves.set(moves.get() + 1),
  });
  const feed = new Feed(info.symbol, timeframe, {
    onFirst: (bars, older) => {
      plot.show(bars, older);
      const wanted = now().does.wanted();
      if (wanted) void seek({ plot, feed }, wanted);
    },
    onOlder: (bars, older) => plot.prepended(bars, older),
    onLast: (bars) => plot.last(bars),
    onEvents: (events) => plot.setEvents(events),
  });
  const hand = new Hand(plot, info.symbol, timeframe, {
    onMade: (d) => {
      const id = doc.add(d);
      now().does.onChoose(id);
      if (d.type === "text") now().does.onEdit(id); // its words are still to be written
    },
    onChanged: doc.save,
    onChoose: (id) => now().does.onChoose(id),
    onEdit: (id) => now().does.onEdit(id),
    onDone: () => now().does.onDone(),
    drawing: doc.find,
  });
  // The layer follows the document itself: what is dropped stays where it is.
  const stop = doc.subscribe(() => {
    plot.layer.chosen = now().chosen.id && doc.idOf(now().chosen.id!);
    plot.layer.show(prefs().drawings ? doc.get().drawings : [], timeframe);
  });
  const end = feed.start();
  return {
    parts: { plot, hand, feed, pointed, moves },
    end: () => {
      end();
      stop();
      hand.remove();
      plot.remove();
    },
  };
}
