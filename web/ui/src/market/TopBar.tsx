import { useRef, useState } from "react";
import { download } from "../lib/download";
import { go } from "../lib/router";
import { setTheme, useDark } from "../lib/theme";
import { IconButton } from "../ui/Button";
import { HomeLink } from "../ui/HomeLink";
import { Icon } from "../ui/Icon";
import { Menu } from "../ui/Menu";
import { drawings } from "./api";
import type { MenuActions } from "./ChartMenu";
import type { Doc, DocState } from "./doc";
import { inMenu, ChartIcon, type Glyph } from "./icons";
import type { KeyActions } from "./keys";
import type { Kind } from "./plot";
import { setPrefs, usePrefs } from "./prefs";
import { SymbolSearch } from "./SymbolSearch";
import { timeframes, type SymbolInfo, type Timeframe } from "./types";
import type { ChatState } from "./useChat";

interface Props {
  info: SymbolInfo;
  symbols: readonly SymbolInfo[];
  timeframe: Timeframe;
  doc: Doc;
  state: DocState;
  chat: ChatState;
  onGo: (symbol: string, timeframe: Timeframe) => void;
  actions: KeyActions & MenuActions;
}

const kinds: { kind: Kind; name: string; glyph: "candles" | "line" | "area" }[] = [
  { kind: "candles", name: "Candles", glyph: "candles" },
  { kind: "line", name: "Line", glyph: "line" },
  { kind: "area", name: "Area", glyph: "area" },
];

export function TopBar(p: Props) {
  const { info, symbols, timeframe, onGo, actions } = p;
  const [search, setSearch] = useState(false);
  const { side } = usePrefs();
  const offered = timeframes.filter((t) => info.timeframes.includes(t));
  return (
    <header className="@container flex h-(--header) shrink-0 items-center gap-0.5 border-b px-2">
      {!p.chat.open && <HomeLink short />}
      <ChatButton chat={p.chat} onToggle={actions.toggleChat} />
      <Line />
      <button
        type="button"
        aria-haspopup="dialog"
        onClick={() => setSearch(true)}
        className="flex h-9 min-w-0 items-center gap-2 rounded-md px-2 text-sm font-semibold hover:bg-hover"
        title="Choose another symbol"
      >
        <Icon name="search" small className="text-ink-quiet" />
        <span className="truncate">{info.symbol}</span>
      </button>
      <Line />
      <Timeframes now={timeframe} all={offered} onChoose={(t) => onGo(info.symbol, t)} />
      <Line />
      <KindMenu />
      <span className="hidden @dialog:contents">
        <Line />
        <GlyphButton glyph="undo" label="Undo" off={!p.state.canUndo} onClick={() => actions.undo("undo")} />
        <GlyphButton glyph="redo" label="Redo" off={!p.state.canRedo} onClick={() => actions.undo("redo")} />
      </span>
      <span className="flex-1" />
      <span className="hidden @dialog:contents">
        <GlyphButton glyph="camera" label="Save as a picture" onClick={actions.picture} />
      </span>
      <GlyphButton
        glyph="layers"
        label="Drawings"
        pressed={side !== null}
        onClick={() => setPrefs({ side: side ? null : "drawings" })}
      />
      <MoreMenu {...p} />
      {search && (
        <SymbolSearch
          symbols={symbols}
          now={info.symbol}
          onClose={() => setSearch(false)}
          onChoose={(s) => {
            setSearch(false);
            onGo(s, timeframe);
          }}
        />
      )}
    </header>
  );
}

const unseenLabels = { answering: " (answering)", answered: " (new answer)" };

function ChatButton({ chat: { open, unseen }, onToggle }: { chat: ChatState; onToggle: () => void }) {
  return (
    <span className="relative">
      <GlyphButton
        glyph="talk"
        label={open ? "Hide the chat" : `Show the chat${unseen ? unseenLabels[unseen] : ""}`}
        pressed={open}
        onClick={onToggle}
      />
      {unseen && (
        <span
          aria-hidden="true"
          className={`pointer-events-none absolute top-1 right-1 size-2 rounded-full bg-accent ${unseen === "answering" ? "breathe" : ""}`}
        />
      )}
    </span>
  );
}

const Line = () => <span aria-hidden="true" className="mx-1 hidden h-5 w-px shrink-0 bg-line @dialog:block" />;

export function GlyphButton({
  glyph,
  label,
  pressed,
  off,
  small,
  onClick,
}: {
  glyph: Glyph;
  label: string;
  pressed?: boolean;
  off?: boolean;
  small?: boolean;
  onClick: (e: React.MouseEvent<HTMLButtonElement>) => void;
}) {
  return (
    <button
      type="button"
      aria-label={label}
      title={label}
      aria-pressed={pressed}
      disabled={off}
      onClick={onClick}
      className={`inline-flex ${small ? "size-7" : "size-9"} shrink-0 items-center justify-center rounded-md text-ink-soft hover:bg-hover hover:text-ink disabled:text-line-strong disabled:hover:bg-transparent aria-pressed:bg-accent-soft aria-pressed:text-accent`}
    >
      <ChartIcon name={glyph} small={small} />
    </button>
  );
}

function Timeframes({
  now,
  all,
  onChoose,
}: {
  now: Timeframe;
  all: readonly Timeframe[];
  onChoose: (t: Timeframe) => void;
}) {
  return (
    <>
      <div role="group" aria-label="Timeframe" className="hidden items-center @page:flex">
        {all.map((t) => (
          <button
            key={t}
            type="button"
            aria-pressed={t === now}
            onClick={() => onChoose(t)}
            className="h-8 rounded-md px-2 text-sm text-ink-soft hover:bg-hover aria-pressed:bg-accent-soft aria-pressed:font-semibold aria-pressed:text-accent"
          >
            {t}
          </button>
        ))}
      </div>
      <span className="@page:hidden">
        <Menu
          label="Timeframe"
          groups={[
            {
              title: "Timeframe",
              items: all.map((t) => ({ label: t, checked: t === now, onSelect: () => onChoose(t) })),
            },
          ]}
          button={(b) => (
            <button
              type="button"
              {...b}
              aria-label={`Timeframe ${now}`}
              className="flex h-9 items-center gap-1 rounded-md px-2 text-sm font-medium hover:bg-hover"
            >
              {now}
              <Icon name="down" small className="text-ink-quiet" />
            </button>
          )}
        />
      </span>
    </>
  );
}

function KindMenu() {
  const { kind } = usePrefs();
  const now = kinds.find((k) => k.kind === kind)!;
  return (
    <Menu
      label="Kind of chart"
      groups={[
        {
          title: "Bars",
          items: kinds.map((k) => ({
            label: k.name,
            checked: k.kind === kind,
            onSelect: () => setPrefs({ kind: k.kind }),
          })),
        },
      ]}
      button={(b) => (
        <button
          type="button"
          {...b}
          aria-label={`Kind of chart: ${now.name}`}
          title="Kind of chart"
          className="flex size-9 items-center justify-center rounded-md text-ink-soft hover:bg-hover"
        >
          {now.glyph === "candles" ? <ChartIcon name="candles" /> : <Icon name={now.glyph} />}
        </button>
      )}
    />
  );
}

function MoreMenu({ info, doc, actions, state }: Props) {
  const { volume, events } = usePrefs();
  const dark = useDark();
  const file = useRef<HTMLInputElement>(null);
  return (
    <>
      <Menu
        label="More"
        align="end"
        groups={[
          {
            title: "Shown",
            items: [
              {
                label: volume ? "Hide the volume" : "Show the volume",
                icon: "chart",
                onSelect: () => setPrefs({ volume: !volume }),
              },
              {
                label: events ? "Hide the calendar" : "Show the calendar",
                icon: inMenu("calendar"),
                onSelect: () => setPrefs({ events: !events }),
              },
              {
                label: dark ? "Light theme" : "Dark theme",
                icon: "sun",
                onSelect: () => setTheme(dark ? "light" : "dark"),
              },
            ],
          },
          {
            title: "Drawings",
            items: [
              {
                label: "Undo",
                icon: inMenu("undo"),
                disabled: state.canUndo ? undefined : "Nothing to undo",
                onSelect: () => actions.undo("undo"),
              },
              {
                label: "Redo",
                icon: inMenu("redo"),
                disabled: state.canRedo ? undefined : "Nothing to redo",
                onSelect: () => actions.undo("redo"),
              },
              {
                label: "Export as JSON",
                icon: "export",
                onSelect: () => download(drawings.exportUrl(info.symbol)),
              },
              { label: "Import from JSON", icon: "file", onSelect: () => file.current?.click() },
              { label: "Save as a picture", icon: inMenu("camera"), onSelect: actions.picture },
            ],
          },
          {
            items: [
              { label: "Keyboard", icon: "key", keys: "?", onSelect: actions.keys },
              { label: "All conversations", icon: "menu", onSelect: () => go({}) },
            ],
          },
        ]}
        button={(b) => <IconButton icon="dots" label="More" {...b} />}
      />
      <input
        ref={file}
        type="file"
        accept="application/json,.json"
        aria-label="Drawings to import"
        className="hidden"
        onChange={(e) => {
          const f = e.target.files?.[0];
          e.target.value = "";
          void f?.text().then(doc.import);
        }}
      />
    </>
  );
}
