import { tools } from "./edit";
import { Mark, type Glyph } from "./icons";
import { setPrefs, usePrefs } from "./prefs";

interface Props {
  tool: string | undefined;
  onTake: (tool: string | undefined) => void;
}

// Where a group of tools ends.
const ends = new Set(["extended", "vertical_line", "circle", "marker"]);

/** The tools, beside the chart; below it on a narrow screen. */
export function Rail({ tool, onTake }: Props) {
  const { magnet, drawings } = usePrefs();
  return (
    <div role="toolbar" aria-label="Drawing tools" aria-orientation="vertical" className="chart-rail flex shrink-0 items-center gap-0.5 bg-surface p-1 max-md:w-full max-md:overflow-x-auto max-md:border-t md:w-(--rail) md:flex-col md:overflow-y-auto md:border-r">
      <Tool glyph="cursor" label="Choose and move (Esc)" pressed={tool === undefined} onClick={() => onTake(undefined)} />
      <Gap />
      {tools.map((t) => (
        <span key={t.id} className="contents">
          <Tool glyph={t.id as Glyph} label={t.key ? `${t.name} (Alt+${t.key})` : t.name} pressed={tool === t.id} onClick={() => onTake(tool === t.id ? undefined : t.id)} />
          {ends.has(t.id) && <Gap />}
        </span>
      ))}
      <Gap />
      <Tool glyph="magnet" label="Magnet: points go to open, high, low and close" pressed={magnet} onClick={() => setPrefs({ magnet: !magnet })} />
      <Tool glyph={drawings ? "eye" : "eyeOff"} label={drawings ? "Hide all drawings" : "Show the drawings"} onClick={() => setPrefs({ drawings: !drawings })} />
    </div>
  );
}

const Gap = () => <span aria-hidden="true" className="shrink-0 bg-line max-md:mx-0.5 max-md:h-5 max-md:w-px md:my-0.5 md:h-px md:w-5" />;

function Tool({ glyph, label, pressed, onClick }: { glyph: Glyph; label: string; pressed?: boolean; onClick: () => void }) {
  return (
    <button
      type="button"
      aria-label={label}
      title={label}
      aria-pressed={pressed}
      onClick={onClick}
      className="inline-flex size-8 shrink-0 items-center justify-center rounded-md text-ink-soft -outline-offset-2 hover:bg-hover hover:text-ink aria-pressed:bg-accent-soft aria-pressed:text-accent max-md:size-9"
    >
      <Mark name={glyph} />
    </button>
  );
}

