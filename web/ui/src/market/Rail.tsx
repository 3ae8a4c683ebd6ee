import { useState, type KeyboardEvent } from "react";
import { useMedia } from "../lib/media";
import { tools } from "./edit";
import { ChartIcon, type Glyph } from "./icons";
import { setPrefs, usePrefs } from "./prefs";

interface Props {
  tool: string | undefined;
  onSelectTool: (tool: string | undefined) => void;
}

// The last tools of their groups.
const groupEnds = new Set(["extended", "vertical_line", "circle", "marker"]);

/** The drawing tools, beside the chart or, on a narrow screen, below it. Tab goes to the last used tool and then past
 *  the toolbar; arrow keys move between the tools. */
export function Rail({ tool, onSelectTool }: Props) {
  const { magnet, drawings } = usePrefs();
  const upright = useMedia("(min-width: 48rem)");
  const [stop, setStop] = useState("cursor");
  const at = (id: string) => ({ tabIndex: id === stop ? 0 : -1, onFocus: () => setStop(id) });
  return (
    <div
      role="toolbar"
      aria-label="Drawing tools"
      aria-orientation={upright ? "vertical" : "horizontal"}
      onKeyDown={move}
      className="chart-rail flex shrink-0 items-center gap-0.5 bg-surface p-1 max-md:w-full max-md:overflow-x-auto max-md:border-t md:w-(--rail) md:flex-col md:overflow-y-auto md:border-r"
    >
      <Tool
        {...at("cursor")}
        glyph="cursor"
        label="Select and move (Esc)"
        pressed={tool === undefined}
        onClick={() => onSelectTool(undefined)}
      />
      <Gap />
      {tools.map((t) => (
        <span key={t.id} className="contents">
          <Tool
            {...at(t.id)}
            glyph={t.id as Glyph}
            label={t.key ? `${t.name} (Alt+${t.key})` : t.name}
            pressed={tool === t.id}
            onClick={() => onSelectTool(tool === t.id ? undefined : t.id)}
          />
          {groupEnds.has(t.id) && <Gap />}
        </span>
      ))}
      <Gap />
      <Tool
        {...at("magnet")}
        glyph="magnet"
        label="Magnet: snap points to open, high, low and close"
        pressed={magnet}
        onClick={() => setPrefs({ magnet: !magnet })}
      />
      <Tool
        {...at("eye")}
        glyph={drawings ? "eye" : "eyeOff"}
        label={drawings ? "Hide all drawings" : "Show the drawings"}
        onClick={() => setPrefs({ drawings: !drawings })}
      />
    </div>
  );
}

function move(e: KeyboardEvent<HTMLElement>): void {
  const all = [...e.currentTarget.querySelectorAll("button")];
  const now = all.indexOf(document.activeElement as HTMLButtonElement);
  const to = { ArrowUp: now - 1, ArrowLeft: now - 1, ArrowDown: now + 1, ArrowRight: now + 1, Home: 0, End: -1 }[e.key];
  if (to === undefined || e.altKey || e.ctrlKey || e.metaKey) return; // shortcuts of the browser
  e.preventDefault();
  all.at(to % all.length)?.focus();
}

const Gap = () => (
  <span aria-hidden="true" className="shrink-0 bg-line max-md:mx-0.5 max-md:h-5 max-md:w-px md:my-0.5 md:h-px md:w-5" />
);

interface ToolProps {
  glyph: Glyph;
  label: string;
  pressed?: boolean;
  tabIndex: number;
  onFocus: () => void;
  onClick: () => void;
}

function Tool({ glyph, label, pressed, ...rest }: ToolProps) {
  return (
    <button
      type="button"
      aria-label={label}
      title={label}
      aria-pressed={pressed}
      {...rest}
      className="inline-flex size-8 shrink-0 items-center justify-center rounded-md text-ink-soft -outline-offset-2 hover:bg-hover hover:text-ink aria-pressed:bg-accent-soft aria-pressed:text-accent max-md:size-9"
    >
      <ChartIcon name={glyph} />
    </button>
  );
}
