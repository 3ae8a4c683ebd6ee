export interface Shortcut {
  keys: readonly string[];
  action: string;
}

export function Keys({ keys }: { keys: readonly string[] }) {
  return keys.map((k) => (
    <kbd key={k} className="ml-1 rounded-sm border px-1.5 font-sans text-xs">
      {k}
    </kbd>
  ));
}

export function KeyTable({ of }: { of: readonly Shortcut[] }) {
  return (
    <dl className="grid grid-cols-[auto_1fr] items-baseline gap-x-5 gap-y-2 text-sm">
      {of.map((s) => (
        <div key={s.action} className="contents">
          <dt className="text-right whitespace-nowrap">
            <Keys keys={s.keys} />
          </dt>
          <dd className="text-ink-soft">{s.action}</dd>
        </div>
      ))}
    </dl>
  );
}
