import type { Turn } from "../log/conversation";
import { useLog, type Log } from "../log/store";
import { who } from "../lib/me";
import { go } from "../lib/router";
import { Icon } from "../ui/Icon";

/** Says that an answer quotes results which have a newer version. */
export function Stale({ turn, log }: { turn: Turn; log: Log }) {
  const results = useLog(log, (c) => c.results);
  const quoted = new Set(
    turn.answer?.cites.flatMap((x) => (x.result ? [x.result] : (x.formula?.match(/\br\d+\b/g) ?? []))),
  );
  const old = [...quoted].map((id) => results[id]).filter((r) => r?.replacedBy !== undefined);
  const newest = results[old.at(-1)?.replacedBy ?? ""];
  const first = old.at(-1);
  if (!newest || !first) return null;
  return (
    <p
      role="note"
      className="mt-3 flex flex-wrap items-center gap-x-2 gap-y-1 rounded-md bg-warn-soft px-3 py-2 text-sm text-warn"
    >
      <Icon name="alert" small />
      <span className="min-w-0 flex-1">
        The text above quotes v{first.version} of {old.length > 1 ? `${old.length} queries` : "its query"}. There is v
        {newest.version}, by {who(newest.author)}: the figures may differ.
      </span>
      <button
        type="button"
        className="rounded-sm font-medium underline underline-offset-2"
        onClick={() => go({ conversation: log.id, result: newest.id, view: "table" })}
      >
        See v{newest.version}
      </button>
    </p>
  );
}
