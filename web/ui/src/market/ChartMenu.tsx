// The context menu of the chart: for a drawing, or for a price and the whole chart.
import { useCallback, useState } from "react";
import { MenuAt, type MenuGroup } from "../ui/Menu";
import { inMenu } from "./icons";
import { kindOf } from "./shape";
import type { Drawing } from "./types";

/** The position of the menu, and what is there. */
export interface MenuTarget {
  x: number;
  y: number;
  drawing?: Drawing;
  price?: number;
}

export interface MenuActions {
  edit: (id: string) => void;
  copy: (id: string) => void;
  save: (d: Drawing) => void;
  remove: (id: string) => void;
  trail: (id: string) => void;
  level: (price: number) => void;
  date: () => void;
  newest: () => void;
  picture: () => void;
}

interface Props {
  asked: MenuTarget;
  digits: number;
  shown: boolean; // whether the drawings are shown
  onShown: (on: boolean) => void;
  actions: MenuActions;
  onClose: () => void;
}

export function ChartMenu({ asked, digits, shown, onShown, actions, onClose }: Props) {
  const [anchor, setAnchor] = useState<HTMLElement | null>(null);
  const put = useCallback((el: HTMLElement | null) => setAnchor(el), []);
  const d = asked.drawing;
  const groups = d ? ofDrawing(d, actions) : ofChart(asked.price?.toFixed(digits), shown, onShown, actions);
  return (
    <>
      <span ref={put} className="absolute size-0" style={{ left: asked.x, top: asked.y }} />
      <MenuAt anchor={anchor} label={d ? kindOf(d) : "Chart"} groups={groups} onClose={onClose} />
    </>
  );
}

function ofDrawing(d: Drawing, actions: MenuActions): MenuGroup[] {
  return [
    {
      title: kindOf(d),
      items: [
        { label: "Edit", icon: "edit", keys: "Enter", onSelect: () => actions.edit(d.id) },
        { label: "Duplicate", icon: "copy", keys: "Ctrl D", onSelect: () => actions.copy(d.id) },
        { label: "Show the history", icon: inMenu("trail"), onSelect: () => actions.trail(d.id) },
      ],
    },
    {
      items: [
        {
          label: d.locked ? "Unlock" : "Lock",
          icon: inMenu(d.locked ? "unlock" : "lock"),
          onSelect: () => actions.save({ ...d, locked: !d.locked }),
        },
        { label: "Hide", icon: inMenu("eyeOff"), onSelect: () => actions.save({ ...d, hidden: true }) },
        {
          label: "Delete",
          icon: "trash",
          keys: "Del",
          danger: true,
          disabled: d.locked ? "The drawing is locked." : undefined,
          onSelect: () => actions.remove(d.id),
        },
      ],
    },
  ];
}

function ofChart(
  price: string | undefined,
  shown: boolean,
  onShown: (on: boolean) => void,
  actions: MenuActions,
): MenuGroup[] {
  const here: MenuGroup[] = price
    ? [
        {
          title: price,
          items: [
            { label: "Draw a line here", icon: "plus", onSelect: () => actions.level(Number(price)) },
            {
              label: "Copy the price",
              icon: "copy",
              onSelect: () => void navigator.clipboard.writeText(price).catch(() => {}),
            },
          ],
        },
      ]
    : [];
  return [
    ...here,
    {
      title: "Chart",
      items: [
        { label: "Go to the newest bar", icon: inMenu("toEnd"), keys: "End", onSelect: actions.newest },
        { label: "Go to a date", icon: inMenu("calendar"), keys: "Alt G", onSelect: actions.date },
        {
          label: shown ? "Hide all drawings" : "Show the drawings",
          icon: inMenu(shown ? "eyeOff" : "eye"),
          onSelect: () => onShown(!shown),
        },
        { label: "Save as a picture", icon: inMenu("camera"), onSelect: actions.picture },
      ],
    },
  ];
}
