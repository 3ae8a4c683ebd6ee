// The state of the chart page: the tool, the selected drawing, and the open menu or dialog.
import { useMemo, useState, type Dispatch, type SetStateAction } from "react";
import type { MenuTarget } from "./ChartMenu";
import type { Change } from "./types";
import type { Chosen } from "./useBoard";

/** The open dialog or menu. */
type Over = { edit: string } | { menu: MenuTarget } | "date" | "keys";

export interface Held {
  chosen: Chosen;
  over: Over | undefined;
  take: (tool: string | undefined) => void;
  choose: (id: string | undefined) => void;
  /** Highlights a drawing. With a change, also shows the drawing as it was before. */
  light: (id: string | undefined, change?: Change) => void;
  edit: (id: string) => void;
  open: Dispatch<SetStateAction<Over | undefined>>;
}

export function useHeld(): Held {
  const [chosen, setChosen] = useState<Chosen>({});
  const [over, open] = useState<Over>();
  const actions = useMemo(
    (): Omit<Held, "chosen" | "over"> => ({
      take: (tool) => setChosen((c) => ({ ...c, tool, id: tool ? undefined : c.id })),
      choose: (id) => setChosen((c) => (c.id === id ? c : { ...c, id })),
      light: (id, change) =>
        setChosen((c) => ({ ...c, lit: id, ghost: change?.before && change.after ? change.before : undefined })),
      edit: (id) => open({ edit: id }),
      open,
    }),
    [],
  );
  return { chosen, over, ...actions };
}
