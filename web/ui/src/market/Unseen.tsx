import { useEffect, useState, useSyncExternalStore } from "react";
import { useWide } from "../lib/media";
import type { Doc } from "./doc";
import { ChartIcon } from "./icons";
import { headline } from "./words";

interface Props {
  doc: Doc;
  digits: number;
  onReveal: (id: string) => void;
}

/** Announces what the assistant draws while the chat covers the chart, with a link to the drawing. */
export function Unseen({ doc, digits, onReveal }: Props) {
  const wide = useWide();
  const { trail, version, loading } = useSyncExternalStore(doc.subscribe, doc.get);
  const [since, setSince] = useState<number>();
  useEffect(() => {
    if (!loading) setSince((s) => s ?? version);
  }, [loading, version]);
  const drawn = since === undefined ? [] : trail.filter((c) => c.by === "agent" && c.version > since);
  const last = drawn[0];
  if (wide) return null;
  return (
    <div role="status" aria-live="polite">
      {last && (
        <button
          type="button"
          onClick={() => onReveal(last.drawing)}
          className="flex w-full items-center gap-2 border-b bg-accent-soft px-3 py-2 text-left text-sm text-accent -outline-offset-2"
        >
          <ChartIcon name={last.by} small />
          <span className="min-w-0 flex-1 truncate" dir="auto">
            {headline(last, digits)}
            {drawn.length > 1 && `, and ${drawn.length - 1} more`}
          </span>
          <span className="shrink-0 font-medium">See it</span>
        </button>
      )}
    </div>
  );
}
