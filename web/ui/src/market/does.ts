// The actions of the chart page, for keys, menus and buttons.
import type { MenuActions } from "./ChartMenu";
import type { Doc } from "./doc";
import type { KeyActions } from "./keys";
import { picture } from "./picture";
import { setPrefs } from "./prefs";
import type { SymbolInfo, Timeframe } from "./types";
import type { Parts } from "./useBoard";
import type { Held } from "./useHeld";
import type { Talking } from "./useTalk";
import { describe } from "./words";

interface Context {
  info: SymbolInfo;
  timeframe: Timeframe;
  doc: Doc;
  parts: Parts | undefined;
  held: Held;
  talk: Talking;
  announce: (words: string) => void;
}

export function chartActions({ info, timeframe, doc, parts, held, talk, announce }: Context): KeyActions & MenuActions {
  return {
    take: held.take,
    choose: held.choose,
    edit: held.edit,
    announce,
    describe: (id) => describe(doc.find(id)!, info.digits),
    save: doc.save,
    remove: doc.remove,
    copy: (id) => {
      const d = parts?.hand.copyOf(id);
      if (d) held.choose(doc.add(d));
    },
    level: (price) => held.choose(doc.add({ type: "horizontal_line", symbol: info.symbol, timeframe, price })),
    undo: (which) => {
      parts?.hand.saveMoved();
      void doc.back(which);
    },
    trail: (id) => {
      held.choose(id);
      setPrefs({ side: "trail" });
    },
    date: () => held.open("date"),
    keys: () => held.open("keys"),
    talk: () => talk.show(!talk.on),
    newest: () => parts?.plot.newest(),
    picture: () => parts && void picture(parts, info, timeframe),
  };
}
