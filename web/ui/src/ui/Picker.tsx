// A dialog with a search field and a list of matches. Arrow keys move in the list, Enter picks.
import { useEffect, useRef, useState, type KeyboardEvent, type ReactNode } from "react";
import { Dialog } from "./Dialog";

interface PickerProps<T> {
  title: string;
  /** The accessible names of the field and the list. */
  field: string;
  list: string;
  placeholder: string;
  query: string;
  onQuery: (query: string) => void;
  /** The items that match the query. */
  items: readonly T[];
  keyOf: (item: T) => string;
  /** The heading above an item. Items of one group must be adjacent. */
  groupOf?: (item: T) => string;
  isDisabled?: (item: T) => boolean;
  onPick: (item: T) => void;
  onClose: () => void;
  /** Shown if no item matches. */
  none: string;
  /** Gives the list a fixed height, so that the dialog does not jump while typing. */
  fixedHeight?: boolean;
  foot?: ReactNode;
  children: (item: T) => ReactNode;
}

const pageSize = 8;

export function Picker<T>(p: PickerProps<T>) {
  const { items } = p;
  const [at, setAt] = useState(0);
  const list = useRef<HTMLDivElement>(null);
  const chosen = Math.min(at, items.length - 1);
  const id = (i: number) => `picker-${i}`;
  useEffect(() => {
    list.current?.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: "nearest" });
  }, [chosen, items.length]);

  const pick = (item: T | undefined) => {
    if (item !== undefined && !p.isDisabled?.(item)) p.onPick(item);
  };
  const press = (e: KeyboardEvent) => {
    if (e.nativeEvent.isComposing) return;
    const last = items.length - 1;
    if (e.key === "ArrowDown") setAt(chosen >= last ? 0 : chosen + 1);
    else if (e.key === "ArrowUp") setAt(chosen <= 0 ? last : chosen - 1);
    else if (e.key === "PageDown") setAt(Math.min(last, chosen + pageSize));
    else if (e.key === "PageUp") setAt(Math.max(0, chosen - pageSize));
    else if (e.key === "Enter") pick(items[chosen]);
    else return;
    e.preventDefault();
  };
  const high = p.fixedHeight ? "h-80" : "max-h-80";
  return (
    <Dialog title={p.title} onClose={p.onClose}>
      <input
        role="combobox"
        aria-label={p.field}
        aria-expanded="true"
        aria-controls="picker-list"
        aria-autocomplete="list"
        aria-activedescendant={chosen >= 0 ? id(chosen) : undefined}
        placeholder={p.placeholder}
        maxLength={200}
        value={p.query}
        onChange={(e) => {
          p.onQuery(e.target.value);
          setAt(0);
        }}
        onKeyDown={press}
        className="h-10 w-full rounded-md border bg-surface px-3"
      />
      <div
        ref={list}
        id="picker-list"
        role="listbox"
        aria-label={p.list}
        tabIndex={-1}
        hidden={!items.length}
        className={`mt-2 ${high} overflow-y-auto`}
      >
        {items.map((item, i) => {
          const group = p.groupOf?.(item);
          const startsGroup = group !== undefined && group !== (i > 0 ? p.groupOf?.(items[i - 1]!) : undefined);
          const off = p.isDisabled?.(item) ?? false;
          return (
            <div key={p.keyOf(item)} role="presentation">
              {startsGroup && (
                <div role="presentation" className="px-3 pt-2 pb-0.5 text-xs text-ink-quiet">
                  {group}
                </div>
              )}
              <div
                id={id(i)}
                role="option"
                aria-selected={i === chosen}
                aria-disabled={off || undefined}
                onPointerMove={() => i !== chosen && setAt(i)}
                onClick={() => pick(item)}
                className={`flex min-h-9 cursor-pointer items-center gap-2.5 rounded-md px-3 py-1.5 text-sm ${i === chosen ? "bg-hover" : ""} ${off ? "text-ink-quiet" : ""}`}
              >
                {p.children(item)}
              </div>
            </div>
          );
        })}
      </div>
      <p
        role="status"
        className={items.length ? "sr-only" : `mt-2 ${p.fixedHeight ? "h-80" : ""} px-3 py-4 text-sm text-ink-quiet`}
      >
        {items.length ? "" : p.none}
      </p>
      {p.foot}
    </Dialog>
  );
}
