// What the person is doing on the chart page: the tool, the selected drawing, and the open menu or dialog.
import { useMemo, useState, type Dispatch, type SetStateAction } from "react";
import type { MenuTarget } from "./ChartMenu";
import type { Change } from "./types";
import type { Chosen } from "./useBoard";

/** The open dialog or menu. */
type Overlay = { edit: string } | { menu: MenuTarget } | "date" | "keys";

export interface Interaction {
  chosen: Chosen;
  overlay: Overlay | undefined;
  selectTool: (tool: string | undefined) => void;
  choose: (id: string | undefined) => void;
  /** Selects a drawing and fits the price scale to it. */
  reveal: (id: string) => void;
  /** Highlights a drawing. With a change, also shows the drawing as it was before. */
  highlight: (id: string | undefined, change?: Change) => void;
  edit: (id: string) => void;
  open: Dispatch<SetStateAction<Overlay | undefined>>;
}

export function useInteraction(): Interaction {
  const [chosen, setChosen] = useState<Chosen>({});
  const [overlay, open] = useState<Overlay>();
  const actions = useMemo(
    (): Omit<Interaction, "chosen" | "overlay"> => ({
      selectTool: (tool) => setChosen((c) => ({ ...c, tool, id: tool ? undefined : c.id })),
      choose: (id) => setChosen((c) => (c.id === id ? c : { ...c, id, revealed: undefined })),
      reveal: (id) => setChosen((c) => ({ ...c, id, revealed: id })),
      highlight: (id, change) =>
        setChosen((c) => ({
          ...c,
          highlighted: id,
          ghost: change?.before && change.after ? change.before : undefined,
        })),
      edit: (id) => open({ edit: id }),
      open,
    }),
    [],
  );
  return { chosen, overlay, ...actions };
}
