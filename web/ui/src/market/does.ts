// What can be done on the chart page, by whichever way: keys, menus, buttons.
import type { MenuDoes } from "./ChartMenu";
import type { Doc } from "./doc";
import type { KeyDoes } from "./keys";
import { picture } from "./picture";
import { setPrefs } from "./prefs";
import type { SymbolInfo, Timeframe } from "./types";
import type { Parts } from "./useBoard";
import type { Held } from "./useHeld";
import type { Talking } from "./useTalk";
import { described } from "./words";

interface On {
  info: SymbolInfo;
  timeframe: Timeframe;
  doc: Doc;
  parts: Parts | undefined;
  held: Held;
  talk: Talking;
  say: (words: string) => void;
}

export function doing({ info, timeframe, doc, parts, held, talk, say }: On): KeyDoes & MenuDoes {
  return {
    take: held.take,
    choose: held.choose,
    edit: held.edit,
    say,
    describe: (id) => described(doc.find(id)!, info.digits),
    save: doc.save,
    remove: doc.remove,
    copy: (id) => {
      const d = parts?.hand.copyOf(id);
      if (d) held.choose(doc.add(d));
    },
    level: (price) => held.choose(doc.add({ type: "horizontal_line", symbol: info.symbol, timeframe, price })),
    undo: (which) => {
      parts?.hand.rest();
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
