// The actions of the chart page, for keys, menus and buttons.
import type { MenuActions } from "./ChartMenu";
import type { Doc } from "./doc";
import type { KeyActions } from "./keys";
import { picture } from "./picture";
import { setPrefs } from "./prefs";
import type { SymbolInfo, Timeframe } from "./types";
import type { Parts } from "./useBoard";
import type { Interaction } from "./useInteraction";
import type { ChatState } from "./useChat";
import { describe } from "./words";

interface Context {
  info: SymbolInfo;
  timeframe: Timeframe;
  doc: Doc;
  parts: Parts | undefined;
  interaction: Interaction;
  chat: ChatState;
  announce: (words: string) => void;
}

export function chartActions({
  info,
  timeframe,
  doc,
  parts,
  interaction,
  chat,
  announce,
}: Context): KeyActions & MenuActions {
  return {
    selectTool: interaction.selectTool,
    choose: interaction.choose,
    edit: interaction.edit,
    announce,
    describe: (id) => describe(doc.find(id)!, info.digits),
    save: doc.save,
    remove: doc.remove,
    copy: (id) => {
      const d = parts?.input.copyOf(id);
      if (d) interaction.choose(doc.add(d));
    },
    level: (price) => interaction.choose(doc.add({ type: "horizontal_line", symbol: info.symbol, timeframe, price })),
    undo: (which) => {
      parts?.input.saveMoved();
      void doc.undoOrRedo(which);
    },
    trail: (id) => {
      interaction.choose(id);
      setPrefs({ side: "trail" });
    },
    date: () => interaction.open("date"),
    keys: () => interaction.open("keys"),
    toggleChat: () => chat.setOpen(!chat.open),
    newest: () => parts?.plot.newest(),
    picture: () => parts && void picture(parts, info, timeframe),
  };
}
