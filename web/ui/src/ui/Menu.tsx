import { useState, type KeyboardEvent, type ReactElement, type ReactNode } from "react";
import { Icon, type IconName } from "./Icon";
import { Popover } from "./Popover";

interface MenuItem {
  label: string;
  hint?: string;
  icon?: IconName | ReactElement;
  checked?: boolean; // if set, the item is a radio button
  disabled?: string; // the reason why it is disabled
  danger?: boolean;
  keys?: string; // the shortcut
  onSelect: () => void;
}

export interface MenuGroup {
  title?: string;
  items: MenuItem[];
}

interface Props {
  label: string;
  groups: MenuGroup[];
  side?: "below" | "above";
  align?: "start" | "end";
  /** Renders the button, which must spread the props that it gets. */
  button: (props: {
    "aria-haspopup": "menu";
    "aria-expanded": boolean;
    onClick: (e: React.MouseEvent<HTMLElement>) => void;
  }) => ReactNode;
}

/** A button with a menu. Arrow keys, Home, End and letters move the focus. */
export function Menu({ label, groups, side, align, button }: Props) {
  const [anchor, setAnchor] = useState<HTMLElement | null>(null);
  const close = () => setAnchor(null);
  return (
    <>
      {button({
        "aria-haspopup": "menu",
        "aria-expanded": anchor !== null,
        onClick: (e) => setAnchor(anchor ? null : e.currentTarget),
      })}
      <MenuAt anchor={anchor} onClose={close} label={label} groups={groups} side={side} align={align} />
    </>
  );
}

interface AtProps extends Omit<Props, "button"> {
  anchor: HTMLElement | null;
  onClose: () => void;
}

/** A menu beside any element. */
export function MenuAt({ anchor, onClose, label, groups, side, align }: AtProps) {
  return (
    <Popover
      anchor={anchor}
      onClose={onClose}
      label={label}
      role="menu"
      side={side}
      align={align}
      className="max-h-(--menu-max) min-w-48 overflow-y-auto p-1"
    >
      <div onKeyDown={move}>
        {groups.map((g, i) => (
          <div key={i} role="group" aria-label={g.title} className={i > 0 ? "mt-1 border-t pt-1" : ""}>
            {g.title && <div className="px-2 pt-1 pb-0.5 text-xs text-ink-quiet">{g.title}</div>}
            {g.items.map((item) => (
              <Item key={item.label} item={item} close={onClose} />
            ))}
          </div>
        ))}
      </div>
    </Popover>
  );
}

function Item({ item, close }: { item: MenuItem; close: () => void }) {
  const off = item.disabled !== undefined;
  return (
    <button
      type="button"
      role={item.checked === undefined ? "menuitem" : "menuitemradio"}
      aria-checked={item.checked}
      aria-disabled={off || undefined}
      onClick={() => {
        if (off) return;
        close();
        item.onSelect();
      }}
      className={`flex w-full items-start gap-2 rounded-md px-2 py-1.5 text-left text-sm outline-offset-0 hover:bg-hover focus-visible:bg-hover ${
        off ? "text-ink-quiet" : item.danger ? "text-bad" : ""
      }`}
    >
      {typeof item.icon === "string" ? <Icon name={item.icon} small className="mt-0.5" /> : item.icon}
      <span className="min-w-0 flex-1">
        <span className="block">{item.label}</span>
        {(item.disabled ?? item.hint) && (
          <span className="block text-xs text-ink-quiet">{item.disabled ?? item.hint}</span>
        )}
      </span>
      {item.keys && (
        <span aria-hidden="true" className="ml-4 shrink-0 text-xs text-ink-quiet max-lg:hidden">
          {item.keys}
        </span>
      )}
      {item.checked && <Icon name="check" small className="mt-0.5 text-accent" />}
    </button>
  );
}

function move(e: KeyboardEvent<HTMLElement>): void {
  const items = [...e.currentTarget.querySelectorAll<HTMLElement>('[role^="menuitem"]')];
  const at = items.indexOf(document.activeElement as HTMLElement);
  let to: number;
  if (e.key === "ArrowDown") to = (at + 1) % items.length;
  else if (e.key === "ArrowUp") to = (at - 1 + items.length) % items.length;
  else if (e.key === "Home") to = 0;
  else if (e.key === "End") to = items.length - 1;
  else if (e.key.length === 1 && !e.ctrlKey && !e.metaKey && e.key !== " ") {
    const letter = e.key.toLowerCase();
    const after = [...items.slice(at + 1), ...items.slice(0, at + 1)];
    to = items.indexOf(after.find((i) => i.textContent?.trim().toLowerCase().startsWith(letter)) ?? items[at]!);
  } else return;
  e.preventDefault();
  items[to]?.focus();
}
