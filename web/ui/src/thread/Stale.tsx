import type { Turn } from "../log/conversation";
import { useLog, type Log } from "../log/store";
import { capital } from "../lib/format";
import { youOrName } from "../lib/me";
import { go } from "../lib/router";
import { Icon } from "../ui/Icon";

/** Warns that an answer cites results that have a newer version. */
export function Stale({ turn, log }: { turn: Turn; log: Log }) {
  const results = useLog(log, (c) => c.results);
  const cited = new Set(
    turn.answer?.cites.flatMap((x) => (x.result ? [x.result] : (x.formula?.match(/\br\d+\b/g) ?? []))),
  );
  const old = [...cited].map((id) => results[id]).filter((r) => r?.replacedBy !== undefined);
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
        {capital(youOrName(newest.author))} edited {old.length > 1 ? `${old.length} queries` : "this query"}. The answer
        above still uses {old.length > 1 ? "their earlier versions" : `version ${first.version}`}.
      </span>
      <button
        type="button"
        className="rounded-sm font-medium underline underline-offset-2"
        onClick={() => go({ conversation: log.id, result: newest.id, view: "table" })}
      >
        See version {newest.version}
      </button>
    </p>
  );
}
