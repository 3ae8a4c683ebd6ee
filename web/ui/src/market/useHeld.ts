// What a person has in hand on the chart page: a tool, a drawing, what is open over it.
import { useMemo, useState, type Dispatch, type SetStateAction } from "react";
import type { Asked } from "./ChartMenu";
import type { Change } from "./types";
import type { Chosen } from "./useBoard";

/** A dialog or a menu that is open. */
type Over = { edit: string } | { menu: Asked } | "date" | "keys";

export interface Held {
  chosen: Chosen;
  over: Over | undefined;
  take: (tool: string | undefined) => void;
  choose: (id: string | undefined) => void;
  /** Lights a drawing and, with a change of it, shows what it was before. */
  light: (id: string | undefined, change?: Change) => void;
  edit: (id: string) => void;
  open: Dispatch<SetStateAction<Over | undefined>>;
}

export function useHeld(): Held {
  const [chosen, setChosen] = useState<Chosen>({});
  const [over, open] = useState<Over>();
  const does = useMemo(
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
  return { chosen, over, ...does };
}
