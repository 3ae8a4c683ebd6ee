import type { KeyboardEvent } from "react";
import { Icon, type IconName } from "./Icon";

export interface Tab<T extends string> {
  id: T;
  label: string;
  icon?: IconName;
}

/** A row of tabs. Its panel must have the id `${name}-panel`. */
export function Tabs<T extends string>({
  name,
  label,
  tabs,
  now,
  onChange,
}: {
  name: string;
  label: string;
  tabs: readonly Tab<T>[];
  now: T;
  onChange: (t: T) => void;
}) {
  const move = (e: KeyboardEvent<HTMLElement>) => {
    const by = e.key === "ArrowRight" ? 1 : e.key === "ArrowLeft" ? -1 : 0;
    if (!by) return;
    e.preventDefault();
    const next = tabs[(tabs.findIndex((t) => t.id === now) + by + tabs.length) % tabs.length]!;
    onChange(next.id);
    document.getElementById(`${name}-${next.id}`)?.focus();
  };
  return (
    <div role="tablist" aria-label={label} onKeyDown={move} className="flex min-w-0 gap-1">
      {tabs.map((t) => (
        <button
          key={t.id}
          id={`${name}-${t.id}`}
          type="button"
          role="tab"
          aria-selected={t.id === now}
          aria-controls={`${name}-panel`}
          tabIndex={t.id === now ? 0 : -1}
          onClick={() => onChange(t.id)}
          className={`inline-flex h-8 items-center gap-1.5 rounded-md px-2.5 text-sm font-medium ${
            t.id === now ? "bg-hover text-ink" : "text-ink-quiet hover:text-ink"
          }`}
        >
          {t.icon && <Icon name={t.icon} small />}
          {t.label}
        </button>
      ))}
    </div>
  );
}
