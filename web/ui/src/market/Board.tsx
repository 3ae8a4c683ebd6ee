// One symbol and timeframe on the screen: bars above, tools around, the chat to the left
// and the drawings to the right.
import { Suspense, useCallback, useEffect, useRef, useState, useSyncExternalStore } from "react";
import { useWide } from "../lib/media";
import { go, type Route } from "../lib/router";
import { IconButton } from "../ui/Button";
import { later } from "../lib/later";
import { Boundary } from "../ui/Boundary";
import { ChartMenu, type Asked, type MenuDoes } from "./ChartMenu";
import { docOf, type Doc, type DocState } from "./doc";
import { Edit } from "./Edit";
import { GoTo } from "./GoTo";
import { useChartKeys, usePageKeys, type KeyDoes } from "./keys";
import { KeyList } from "./KeyList";
import { Legend } from "./Legend";
import { picture } from "./picture";
import { prefs, setPrefs, usePrefs } from "./prefs";
import { Rail } from "./Rail";
import { RangeBar } from "./RangeBar";
import type { Wanted } from "./ranges";
import { Side } from "./Side";
import { Style } from "./Style";
import { TalkEdge } from "./TalkEdge";
import { TopBar } from "./TopBar";
import { whenWords } from "./plot";
import type { Change, SymbolInfo, Timeframe } from "./types";
import { seek, useBoard, type Chosen, type Parts } from "./useBoard";
import { described } from "./words";

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
  const { talk, share, side, drawings } = usePrefs();
  const wide = useWide();
  const [chosen, setChosen] = useState<Chosen>({});
  const [editing, setEditing] = useState<string>();
  const [over, setOver] = useState<"date" | "keys">();
  const [asked, setAsked] = useState<Asked>();
  const [said, say] = useState("");
  const [note, setNote] = useState("");
  const wanted = useRef<Wanted>(undefined);
  const el = useRef<HTMLDivElement>(null);
  const take = useCallback((tool: string | undefined) => setChosen((c) => ({ ...c, tool, id: tool ? undefined : c.id })), []);
  const choose = useCallback((id: string | undefined) => setChosen((c) => (c.id === id ? c : { ...c, id })), []);
  const lit = useCallback((id: string | undefined, change?: Change) => setChosen((c) => ({ ...c, lit: id, ghost: change?.before && change.after ? change.before : undefined })), []);
  const parts = useBoard(el, info, timeframe, doc, chosen, {
    onChoose: choose,
    onEdit: setEditing,
    onDone: () => take(undefined),
    wanted: () => {
      const w = wanted.current;
      wanted.current = undefined;
      return w;
    },
  });
  const copy = (id: string) => {
    const d = parts?.hand.copyOf(id);
    if (d) choose(doc.add(d));
  };
  const does: KeyDoes = {
    take,
    choose,
    edit: setEditing,
    copy,
    date: () => setOver("date"),
    keys: () => setOver("keys"),
    talk: toggleTalk(wide),
    undo: (which) => {
      parts?.hand.rest();
      void doc.back(which);
    },
    say,
    describe: (id) => described(doc.find(id)!, info.digits),
  };
  usePageKeys(does);
  const press = useChartKeys({ parts, doc, timeframe, tool: chosen.tool, id: chosen.id, does });
  const focus = useCallback(
    (id: string) => {
      choose(id);
      const d = doc.find(id);
      const time = d?.anchors?.[0]?.time;
      if (time !== undefined && parts) void parts.feed.reach(time).then(() => parts.plot.center(time));
    },
    [choose, doc, parts],
  );
  const goTo = (symbol: string, tf: Timeframe) => {
    const around = symbol === info.symbol ? parts?.plot.middle() : undefined;
    if (around !== undefined) wanted.current ??= { around }; // what was looked at is seen in the other bars
    go({ ...at, chart: { symbol, timeframe: tf } });
  };
  const show = async (w: Wanted, tf: Timeframe) => {
    setNote("");
    if (tf !== timeframe || !parts) {
      wanted.current = w;
      return goTo(info.symbol, tf);
    }
    const first = await seek(parts, w);
    if (first !== undefined) setNote(`The ${tf} bars begin on ${whenWords(first, tf)}.`);
  };
  const menu: MenuDoes = {
    edit: setEditing,
    copy,
    save: doc.save,
    remove: doc.remove,
    trail: (id) => (choose(id), setPrefs({ side: "trail" })),
    level: (price) => choose(doc.add({ type: "horizontal_line", symbol: info.symbol, timeframe, price })),
    date: does.date,
    newest: () => parts?.plot.newest(),
    picture: () => parts && void picture(parts, info, timeframe),
  };
  const current = chosen.id ? doc.find(chosen.id) : undefined;
  const edited = editing ? doc.find(editing) : undefined;
  const showTalk = useTalk(talk, wide);
  const chat = showTalk && (
    <Boundary>
      <Suspense fallback={null}>
        <Talk at={at} symbol={info.symbol} timeframe={timeframe} digits={info.digits} doc={doc} parts={parts} onLight={lit} onFocus={focus} onClose={() => closeTalk(wide)} />
      </Suspense>
    </Boundary>
  );
  const aside = side && <Side doc={doc} state={state} info={info} timeframe={timeframe} view={side} chosen={chosen.id} onChoose={focus} onLight={lit} onEdit={setEditing} onTalk={(c) => (openTalk(wide), go({ ...at, conversation: c }))} />;
  return (
    <div className="flex min-w-0 flex-1">
      {chat && wide && <TalkEdge share={share}>{chat}</TalkEdge>}
      <main className="flex min-w-0 flex-1 flex-col bg-surface">
        <TopBar info={info} symbols={symbols} timeframe={timeframe} doc={doc} state={state} parts={parts} talk={Boolean(showTalk)} onTalk={toggleTalk(wide)} onGo={goTo} onPicture={menu.picture} onUndo={does.undo} onKeys={does.keys} />
        <div className="flex min-h-0 flex-1 max-md:flex-col-reverse">
          <Rail tool={chosen.tool} onTake={take} />
          <div className="flex min-h-0 min-w-0 flex-1 flex-col">
            <section aria-label="Chart" className="relative min-h-0 min-w-0 flex-1">
              <div
                ref={el}
                id="chart"
                tabIndex={0}
                role="application"
                aria-label={`Chart of ${info.name || info.symbol}, ${timeframe}`}
                aria-describedby="chart-keys"
                data-tool={chosen.tool}
                data-ready={parts !== undefined || undefined}
                className="chart-plot absolute inset-0 touch-none"
                onKeyDown={press}
                onBlur={() => parts?.hand.rest()}
                onContextMenu={(e) => parts && setAsked(askedAt(e, parts, doc, chosen.id))}
              />
              <p id="chart-keys" className="sr-only">
                Comma and full stop choose a drawing, arrow keys move it or the chart, Enter edits it. Alt and T begins a trend line.
              </p>
              {parts && <Legend parts={parts} info={info} timeframe={timeframe} />}
              {current && <Style drawing={current} doc={doc} onEdit={() => setEditing(current.id)} onCopy={() => copy(current.id)} onGone={() => choose(undefined)} />}
              <Notice state={state} note={note} onClose={() => (setNote(""), doc.hush())} onRetry={() => void doc.load()} />
              {asked && (
                <ChartMenu
                  asked={asked}
                  digits={info.digits}
                  shown={drawings}
                  onShown={(on) => setPrefs({ drawings: on })}
                  does={menu}
                  onClose={() => {
                    setAsked(undefined);
                    el.current?.focus({ preventScroll: true });
                  }}
                />
              )}
            </section>
            <RangeBar info={info} parts={parts} onShow={(w, tf) => void show(w, tf)} onDate={does.date} />
          </div>
          {aside && wide && (
            <aside aria-label="Drawings" className="flex w-(--side) shrink-0 flex-col border-l">
              {aside}
            </aside>
          )}
        </div>
      </main>
      {chat && !wide && <Sheet label="Chat">{chat}</Sheet>}
      {aside && !wide && (
        <Sheet label="Drawings">
          {aside}
        </Sheet>
      )}
      <div role="status" aria-live="polite" className="sr-only">
        {said}
      </div>
      {/* Keyed by the id it was opened with: what is typed outlasts the id that the server gives. */}
      {edited && <Edit key={editing} drawing={edited} digits={info.digits} onSave={doc.offer} onClose={() => setEditing(undefined)} />}
      {over === "date" && <GoTo info={info} now={parts?.plot.middle()} onGo={(around) => void show({ around }, timeframe)} onClose={() => setOver(undefined)} />}
      {over === "keys" && <KeyList onClose={() => setOver(undefined)} />}
    </div>
  );
}

/** What is at the place of a right click; by key, that of the chosen drawing. */
function askedAt(e: React.MouseEvent, { plot }: Parts, doc: Doc, chosen: string | undefined): Asked {
  e.preventDefault();
  const box = e.currentTarget.getBoundingClientRect();
  const at = { x: e.clientX - box.left, y: e.clientY - box.top };
  const byKey = e.button !== 2;
  const id = byKey ? chosen : plot.layer.at(at)?.id;
  return { ...at, drawing: doc.find(id), price: byKey ? undefined : plot.anchor(at)?.price };
}

/** What is over the chart on a narrow screen. */
function Sheet({ label, children }: { label: string; children: React.ReactNode }) {
  return (
    <section aria-label={label} className="fixed inset-0 z-20 flex flex-col bg-surface">
      {children}
    </section>
  );
}

// On a narrow screen the chat covers the chart: it waits to be asked for.
let asked = false;
const listeners = new Set<() => void>();
function ask(on: boolean): void {
  asked = on;
  for (const f of listeners) f();
}

function useTalk(talk: boolean, wide: boolean): boolean {
  const on = useSyncExternalStore(
    (f) => (listeners.add(f), () => void listeners.delete(f)),
    () => asked,
  );
  return wide ? talk : on;
}

const toggleTalk = (wide: boolean) => () => (wide ? setPrefs({ talk: !prefs().talk }) : ask(!asked));
const openTalk = (wide: boolean) => (wide ? setPrefs({ talk: true }) : (setPrefs({ side: null }), ask(true)));
const closeTalk = (wide: boolean) => (wide ? setPrefs({ talk: false }) : ask(false));

function Notice({ state, note, onClose, onRetry }: { state: DocState; note: string; onClose: () => void; onRetry: () => void }) {
  const words = state.notice ?? (note || undefined) ?? (state.error ? `The drawings could not be loaded: ${state.error}` : "");
  if (!words) return null;
  return (
    <p role="alert" className="absolute inset-x-3 bottom-10 z-10 mx-auto flex w-fit max-w-full items-center gap-3 rounded-md border bg-raised px-3 py-2 text-sm shadow-over">
      <span className="min-w-0">{words}</span>
      {state.error && !state.notice && !note ? (
        <button type="button" className="rounded-sm font-medium underline underline-offset-2" onClick={onRetry}>
          Try again
        </button>
      ) : (
        <IconButton icon="close" small label="Close" onClick={onClose} />
      )}
    </p>
  );
}
