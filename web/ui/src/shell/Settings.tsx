import { useEffect } from "react";
import { api, type Session } from "../api/client";
import { useLoad } from "../api/load";
import { count, tokensWithWeight } from "../lib/format";
import { Dialog } from "../ui/Dialog";

/** The user's usage and budget, and facts about this server. */
export default function Settings({ session, onClose }: { session: Session; onClose: () => void }) {
  const usage = useLoad("usage", api.usage);
  const { data: u, reload } = usage;
  useEffect(reload, [reload]); // figures in the cache may be out of date
  const share = u?.limit_tokens ? Math.min(1, (u.used_today ?? 0) / u.limit_tokens) : undefined;
  const most = Math.max(1, ...(u?.days ?? []).map((d) => d.weighted_tokens));
  return (
    <Dialog title="Usage and settings" onClose={onClose}>
      <section aria-labelledby="usage-title">
        <h3 id="usage-title" className="text-sm font-semibold">
          Usage
        </h3>
        {!u && !usage.error && (
          <p role="status" className="mt-2 h-20 text-sm text-ink-quiet">
            Loading.
          </p>
        )}
        {usage.error && <p className="text-sm text-bad">{usage.error}</p>}
        {u && (
          <>
            <dl className="tabular mt-2 grid grid-cols-[1fr_3fr] gap-x-6 gap-y-1 text-sm">
              <dt className="text-ink-quiet">Tokens used</dt>
              <dd>{tokensWithWeight(u.tokens, u.used_tokens)}</dd>
              {u.limit_tokens !== undefined && (
                <>
                  <dt className="text-ink-quiet">Remaining</dt>
                  <dd>
                    {count(u.left_tokens ?? Math.max(0, u.limit_tokens - u.used_tokens))} of {count(u.limit_tokens)}
                    {u.resets &&
                      `, until ${new Date(u.resets).toLocaleDateString("en-GB", { day: "numeric", month: "long" })}`}
                  </dd>
                </>
              )}
              <dt className="text-ink-quiet">Cost</dt>
              <dd>${u.cost_usd.toFixed(2)}</dd>
            </dl>
            {u.incomplete && (
              <p className="mt-2 text-sm text-ink-quiet">
                These figures are incomplete. Footnote is still counting a long conversation.
              </p>
            )}
            {share !== undefined && (
              <div
                className="mt-3 h-2 overflow-hidden rounded-full bg-sunken"
                role="meter"
                aria-label="Budget used"
                aria-valuenow={Math.round(share * 100)}
                aria-valuemin={0}
                aria-valuemax={100}
              >
                <div
                  className={`h-full ${share > 0.9 ? "bg-bad" : "bg-accent"}`}
                  style={{ width: `${share * 100}%` }}
                />
              </div>
            )}
            {u.days.length > 0 && (
              <ul className="mt-4 flex h-20 items-end gap-1" aria-label="Tokens by day">
                {u.days.slice(-30).map((d) => (
                  <li
                    key={d.day}
                    title={`${d.day}: ${count(d.weighted_tokens)} tokens, $${d.cost_usd.toFixed(2)}`}
                    className="min-h-px max-w-4 flex-1 rounded-sm bg-accent"
                    style={{ height: `${(d.weighted_tokens / most) * 100}%` }}
                  >
                    <span className="sr-only">
                      {d.day}: {count(d.weighted_tokens)}
                    </span>
                  </li>
                ))}
              </ul>
            )}
          </>
        )}
      </section>
      <section aria-labelledby="about-title" className="mt-6 border-t pt-4">
        <h3 id="about-title" className="text-sm font-semibold">
          This server
        </h3>
        <dl className="mt-2 grid grid-cols-[1fr_3fr] gap-x-6 gap-y-1 text-sm">
          <dt className="text-ink-quiet">Version</dt>
          <dd>{session.version}</dd>
          <dt className="text-ink-quiet">Signed in as</dt>
          <dd>
            {session.needs_key
              ? `${session.name || session.user}, ${session.org}`
              : "nobody: this machine needs no key"}
          </dd>
          <dt className="text-ink-quiet">Answered by</dt>
          <dd>{session.offline ? "the offline planner: fixed rules on this machine" : "an AI model"}</dd>
        </dl>
        {session.offline && session.offline_hint && (
          <p className="mt-2 text-sm text-ink-quiet wrap-anywhere">{session.offline_hint}</p>
        )}
      </section>
    </Dialog>
  );
}
