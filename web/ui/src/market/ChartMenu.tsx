// What a right click on the chart offers: for the drawing that is there, or for the
// place and the chart as a whole.
import { useCallback, useState } from "react";
import { MenuAt, type MenuGroup } from "../ui/Menu";
import { inMenu } from "./icons";
import { kindOf } from "./shape";
import type { Drawing } from "./types";

/** Where a menu was asked for, and what is there. */
export interface Asked {
  x: number;
  y: number;
  drawing?: Drawing;
  price?: number;
}

export interface MenuDoes {
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
  asked: Asked;
  digits: number;
  shown: boolean; // drawings are
  onShown: (on: boolean) => void;
  does: MenuDoes;
  onClose: () => void;
}

export function ChartMenu({ asked, digits, shown, onShown, does, onClose }: Props) {
  const [anchor, setAnchor] = useState<HTMLElement | null>(null);
  const put = useCallback((el: HTMLElement | null) => setAnchor(el), []);
  const d = asked.drawing;
  const groups = d ? ofDrawing(d, does) : ofChart(asked.price?.toFixed(digits), shown, onShown, does);
  return (
    <>
      <span ref={put} className="absolute size-0" style={{ left: asked.x, top: asked.y }} />
      <MenuAt anchor={anchor} label={d ? kindOf(d) : "Chart"} groups={groups} onClose={onClose} />
    </>
  );
}

function ofDrawing(d: Drawing, does: MenuDoes): MenuGroup[] {
  return [
    {
      title: kindOf(d),
      items: [
        { label: "Edit", icon: "edit", keys: "Enter", onSelect: () => does.edit(d.id) },
        { label: "Duplicate", icon: "copy", keys: "Ctrl D", onSelect: () => does.copy(d.id) },
        { label: "Who changed it, and why", icon: inMenu("trail"), onSelect: () => does.trail(d.id) },
      ],
    },
    {
      items: [
        {
          label: d.locked ? "Unlock" : "Lock",
          icon: inMenu(d.locked ? "unlock" : "lock"),
          onSelect: () => does.save({ ...d, locked: !d.locked }),
        },
        { label: "Hide", icon: inMenu("eyeOff"), onSelect: () => does.save({ ...d, hidden: true }) },
        {
          label: "Delete",
          icon: "trash",
          keys: "Del",
          danger: true,
          disabled: d.locked ? "It is locked." : undefined,
          onSelect: () => does.remove(d.id),
        },
      ],
    },
  ];
}

function ofChart(
  price: string | undefined,
  shown: boolean,
  onShown: (on: boolean) => void,
  does: MenuDoes,
): MenuGroup[] {
  const here: MenuGroup[] = price
    ? [
        {
          title: price,
          items: [
            { label: "Draw a line here", icon: "plus", onSelect: () => does.level(Number(price)) },
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
        { label: "To the newest bar", icon: inMenu("toEnd"), keys: "End", onSelect: does.newest },
        { label: "Go to a date", icon: inMenu("calendar"), keys: "Alt G", onSelect: does.date },
        {
          label: shown ? "Hide all drawings" : "Show the drawings",
          icon: inMenu(shown ? "eyeOff" : "eye"),
          onSelect: () => onShown(!shown),
        },
        { label: "Save as a picture", icon: inMenu("camera"), onSelect: does.picture },
      ],
    },
  ];
}
