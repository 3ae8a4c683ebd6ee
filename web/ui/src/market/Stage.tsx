// The chart, and what is shown over it: the legend, the toolbar of the selected drawing, notices and the context menu.
import type { KeyboardEvent, MouseEvent, RefObject } from "react";
import { IconButton } from "../ui/Button";
import { ChartMenu, type MenuTarget, type MenuActions } from "./ChartMenu";
import type { Doc, DocState } from "./doc";
import { Legend } from "./Legend";
import { setPrefs, usePrefs } from "./prefs";
import { Style } from "./Style";
import type { SymbolInfo, Timeframe } from "./types";
import type { Parts } from "./useBoard";
import type { Interaction } from "./useInteraction";
import type { Place } from "./usePlace";

interface Props {
  el: RefObject<HTMLDivElement | null>;
  info: SymbolInfo;
  timeframe: Timeframe;
  doc: Doc;
  state: DocState;
  parts: Parts | undefined;
  interaction: Interaction;
  place: Place;
  actions: MenuActions;
  onKey: (e: KeyboardEvent) => void;
}

export function Stage({ el, info, timeframe, doc, state, parts, interaction, place, actions, onKey }: Props) {
  const { drawings } = usePrefs();
  const { chosen, overlay } = interaction;
  const drawing = doc.find(chosen.id);
  const menu = typeof overlay === "object" && "menu" in overlay ? overlay.menu : undefined;
  const closeMenu = () => {
    interaction.open((now) => (now === overlay ? undefined : now)); // a menu item may have opened a dialog already
    el.current?.focus({ preventScroll: true });
  };
  return (
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
        onKeyDown={onKey}
        onBlur={() => parts?.input.saveMoved()}
        onContextMenu={(e) => parts && interaction.open({ menu: menuTarget(e, parts, doc, chosen.id) })}
      />
      <p id="chart-keys" className="sr-only">
        Comma and full stop select a drawing, arrow keys move it or the chart, Enter edits it. Alt and T starts a trend
        line.
      </p>
      {parts && <Legend parts={parts} info={info} timeframe={timeframe} />}
      {drawing && (
        <Style
          drawing={drawing}
          doc={doc}
          onEdit={() => interaction.edit(drawing.id)}
          onCopy={() => actions.copy(drawing.id)}
          onGone={() => interaction.choose(undefined)}
        />
      )}
      <Notice
        state={state}
        note={place.note}
        onClose={() => (place.clearNote(), doc.clearNotice())}
        onRetry={() => void doc.load()}
      />
      {menu && (
        <ChartMenu
          asked={menu}
          digits={info.digits}
          shown={drawings}
          onShown={(on) => setPrefs({ drawings: on })}
          actions={actions}
          onClose={closeMenu}
        />
      )}
    </section>
  );
}

/** Returns the target of the context menu: what was clicked or, if it was opened with a key, the selected drawing. */
function menuTarget(e: MouseEvent, { plot }: Parts, doc: Doc, chosen: string | undefined): MenuTarget {
  e.preventDefault();
  const box = e.currentTarget.getBoundingClientRect();
  const at = { x: e.clientX - box.left, y: e.clientY - box.top };
  const byKey = e.button !== 2;
  const id = byKey ? chosen : plot.layer.at(at)?.id;
  return { ...at, drawing: doc.find(id), price: byKey ? undefined : plot.anchor(at)?.price };
}

function Notice({
  state,
  note,
  onClose,
  onRetry,
}: {
  state: DocState;
  note: string;
  onClose: () => void;
  onRetry: () => void;
}) {
  const words =
    state.notice ?? (note || undefined) ?? (state.error ? `The drawings could not be loaded: ${state.error}` : "");
  if (!words) return null;
  return (
    <p
      role="alert"
      className="absolute inset-x-3 bottom-10 z-10 mx-auto flex w-fit max-w-full items-center gap-3 rounded-md border bg-raised px-3 py-2 text-sm shadow-over"
    >
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
