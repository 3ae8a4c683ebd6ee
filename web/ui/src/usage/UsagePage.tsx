import { useEffect, useMemo, useState } from "react";
import { api, errorMessage, type AskedQuestion, type PersonDay } from "../api/client";
import { useLoad } from "../api/load";
import { download } from "../lib/download";
import { count, duration, plural, short, listTime, tokensWithWeight } from "../lib/format";
import { Button } from "../ui/Button";
import { before, byDay, byPerson, dollars, part, sum, type Sum } from "./sums";

const spans = [7, 30, 90] as const;

const measures = [
  { id: "questions", label: "Questions", of: (s: Sum) => s.questions, format: count },
  { id: "cost", label: "Cost", of: (s: Sum) => s.cost, format: dollars },
  { id: "tokens", label: "Tokens", of: (s: Sum) => s.tokens, format: count },
] as const;

/** The usage of an organisation: who asked what, and what it cost. Only for administrators. */
export default function UsagePage({ org, admin }: { org: string; admin: boolean }) {
  useEffect(() => {
    document.title = "Usage · Footnote";
    return () => void (document.title = "Footnote");
  }, []);
  return (
    <div className="scroll min-h-0 flex-1">
      <div className="mx-auto w-full max-w-page px-5 pt-4 pb-12">
        <h1 className="font-serif text-2xl font-medium tracking-tight">Usage</h1>
        {admin ? <OrganisationUsage org={org} /> : <Refusal />}
      </div>
    </div>
  );
}

function Refusal() {
  return (
    <p role="alert" className="mt-1 max-w-thread text-ink-soft">
      Only administrators can see what everyone asked and what it cost. Your own usage is under Usage and settings.
    </p>
  );
}

function OrganisationUsage({ org }: { org: string }) {
  const [days, setDays] = useState<(typeof spans)[number]>(30);
  const [user, setUser] = useState("");
  const to = new Date().toISOString().slice(0, 10);
  const from = before(to, days - 1);
  const people = useLoad(`people:${from}:${to}`, () => api.people(from, to));
  const { data, reload } = people;
  useEffect(reload, [reload]); // figures in the cache may be out of date
  const users = useMemo(() => [...new Set(data?.rows.map((r) => r.user))].sort((a, b) => a.localeCompare(b)), [data]);
  const rows = useMemo(() => data?.rows.filter((r) => !user || r.user === user) ?? [], [data, user]);
  return (
    <>
      <p className="mt-1 text-ink-soft">What everyone in {org} asked, and what it cost.</p>
      <div className="mt-6 flex flex-wrap items-center gap-x-3 gap-y-2">
        <div role="group" aria-label="Period" className="-ml-2.5 flex gap-1">
          {spans.map((n) => (
            <button
              key={n}
              type="button"
              aria-pressed={n === days}
              onClick={() => setDays(n)}
              className="h-9 rounded-md px-2.5 text-sm font-medium text-ink-quiet hover:text-ink aria-pressed:bg-hover aria-pressed:text-ink"
            >
              {n} days
            </button>
          ))}
        </div>
        <select
          aria-label="Person"
          value={user}
          onChange={(e) => setUser(e.target.value)}
          className="h-9 min-w-0 max-w-drawer rounded-md border bg-surface px-2 text-sm max-sm:grow max-sm:basis-1/2"
        >
          <option value="">Everyone</option>
          {user && !users.includes(user) && <option>{user}</option>}
          {users.map((u) => (
            <option key={u}>{u}</option>
          ))}
        </select>
        <Button icon="download" className="sm:ml-auto" onClick={() => download(api.peopleUrl(from, to, user))}>
          CSV
        </Button>
      </div>
      {people.error && (
        <p role="alert" className="mt-6 text-sm text-bad">
          {people.error}
        </p>
      )}
      {!data && !people.error && (
        <p role="status" className="mt-6 text-sm text-ink-quiet">
          Loading.
        </p>
      )}
      {data && (
        <>
          {data.incomplete && (
            <p role="status" className="mt-6 text-sm text-ink-quiet">
              These figures are incomplete. Footnote is still counting a long conversation.
            </p>
          )}
          <Figures rows={rows} people={user ? undefined : users.length} />
          <Days rows={rows} from={from} to={to} />
          {rows.length === 0 ? (
            <p className="mt-8 text-sm text-ink-quiet">No questions in this period.</p>
          ) : (
            <>
              <People rows={rows} user={user} onUser={setUser} />
              <Questions key={`${from} ${to} ${user}`} from={from} to={to} user={user} />
            </>
          )}
        </>
      )}
    </>
  );
}

function Figures({ rows, people }: { rows: PersonDay[]; people?: number }) {
  const s = sum(rows);
  const figures: [label: string, value: string, title?: string, note?: string][] = [
    ["Questions", count(s.questions)],
    ...(people === undefined ? [] : ([["People", count(people)]] as [string, string][])),
    ["Cost", dollars(s.cost), undefined, s.bound ? "An upper bound: some prices are unknown." : undefined],
    [
      "Tokens",
      short(s.tokens),
      count(s.tokens),
      s.weighted > s.tokens ? `Counting as ${short(s.weighted)}` : undefined,
    ],
    ["From the cache", part(s.hits, s.calls), `${count(s.hits)} of ${plural(s.calls, "tool call")}`],
    ["Failed", part(s.failed, s.questions), plural(s.failed, "answer")],
  ];
  return (
    <dl className="mt-6 grid grid-cols-2 gap-x-6 gap-y-4 sm:grid-cols-3 lg:grid-cols-6">
      {figures.map(([label, value, title, note]) => (
        <div key={label} title={title}>
          <dt className="text-sm text-ink-quiet">{label}</dt>
          <dd className="tabular mt-0.5 text-xl font-medium">{value}</dd>
          {note && <dd className="text-xs text-ink-quiet">{note}</dd>}
        </div>
      ))}
    </dl>
  );
}

function Days({ rows, from, to }: { rows: PersonDay[]; from: string; to: string }) {
  const [measure, setMeasure] = useState<(typeof measures)[number]>(measures[0]);
  const days = useMemo(() => byDay(rows, from, to), [rows, from, to]);
  const most = Math.max(...days.map((d) => measure.of(d.sum)));
  return (
    <section aria-labelledby="by-day" className="mt-8">
      <header className="flex flex-wrap items-center justify-between gap-2">
        <h2 id="by-day" className="text-sm font-semibold">
          By day
        </h2>
        <div role="group" aria-label="What the bars show" className="flex gap-1">
          {measures.map((m) => (
            <button
              key={m.id}
              type="button"
              aria-pressed={m === measure}
              onClick={() => setMeasure(m)}
              className="h-7 rounded-md px-2 text-xs font-medium text-ink-quiet hover:text-ink aria-pressed:bg-hover aria-pressed:text-ink"
            >
              {m.label}
            </button>
          ))}
        </div>
      </header>
      <ul aria-label={`${measure.label} by day`} className="mt-3 flex h-32 items-end gap-px border-b sm:gap-1">
        {days.map((d) => {
          const value = measure.of(d.sum);
          const text = `${date(d.day)}: ${measure.format(value)}`;
          return (
            <li
              key={d.day}
              title={`${text}${d.people ? `, ${plural(d.people, "person", "people")}` : ""}`}
              className="group flex h-full flex-1 items-end"
            >
              <span
                className="w-full rounded-t-sm bg-accent group-hover:bg-accent-strong"
                style={{ height: most > 0 ? `${(value / most) * 100}%` : 0 }}
              >
                <span className="sr-only">{text}</span>
              </span>
            </li>
          );
        })}
      </ul>
      <p aria-hidden="true" className="tabular mt-1 flex justify-between text-xs text-ink-quiet">
        <span>{date(from)}</span>
        <span>{most > 0 && `at most ${measure.format(most)} a day`}</span>
        <span>{date(to)}</span>
      </p>
    </section>
  );
}

const date = (day: string) =>
  new Date(`${day}T00:00:00Z`).toLocaleDateString("en-GB", { day: "numeric", month: "short", timeZone: "UTC" });

const maxPeople = 12;

function People({ rows, user, onUser }: { rows: PersonDay[]; user: string; onUser: (user: string) => void }) {
  const [all, setAll] = useState(false);
  const people = useMemo(() => byPerson(rows), [rows]);
  const most = Math.max(...people.map((p) => p.sum.cost)) || 1;
  const right = "py-2 pl-4 text-right";
  return (
    <section aria-labelledby="by-person" className="mt-8">
      <h2 id="by-person" className="text-sm font-semibold">
        By person
      </h2>
      <table className="tabular mt-2 w-full text-sm">
        <thead>
          <tr className="border-b text-ink-quiet [&>th]:font-normal [&>th]:whitespace-nowrap">
            <th scope="col" className="w-1/2 py-2 text-left md:w-1/3">
              Person
            </th>
            <th scope="col" className={right}>
              Questions
            </th>
            <th scope="col" className={`${right} max-sm:hidden`}>
              Failed
            </th>
            <th scope="col" className={`${right} max-sm:hidden`}>
              From the cache
            </th>
            <th scope="col" className={`${right} max-sm:hidden`}>
              Tokens
            </th>
            <th scope="col" className={right}>
              Cost
            </th>
            <th scope="col" className="w-1/6 pl-4 max-md:hidden">
              <span className="sr-only">Share of the cost</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {people.slice(0, all ? undefined : maxPeople).map((p) => (
            <tr key={p.user} className="border-b">
              <th scope="row" className="max-w-0 truncate py-1 text-left font-normal">
                <button
                  type="button"
                  aria-pressed={user === p.user}
                  title={user ? "Show everyone" : `Show ${p.user} only`}
                  onClick={() => onUser(user ? "" : p.user)}
                  className="-mx-2 h-8 max-w-full truncate rounded-md px-2 hover:bg-hover"
                >
                  {p.user}
                </button>
              </th>
              <td className={right}>{count(p.sum.questions)}</td>
              <td className={`${right} max-sm:hidden ${p.sum.failed > 0 ? "" : "text-ink-quiet"}`}>
                {count(p.sum.failed)}
              </td>
              <td className={`${right} max-sm:hidden`} title={`${count(p.sum.hits)} of ${count(p.sum.calls)}`}>
                {part(p.sum.hits, p.sum.calls)}
              </td>
              <td className={`${right} max-sm:hidden`} title={tokensWithWeight(p.sum.tokens, p.sum.weighted)}>
                {short(p.sum.tokens)}
              </td>
              <td className={right} title={p.sum.bound ? "An upper bound: some prices are unknown" : undefined}>
                {p.sum.bound && "≤ "}
                {dollars(p.sum.cost)}
              </td>
              <td className="pl-4 max-md:hidden" aria-hidden="true">
                <span
                  className="block h-1.5 rounded-full bg-accent"
                  style={{ width: `${(p.sum.cost / most) * 100}%` }}
                />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {people.length > maxPeople && !all && (
        <Button look="quiet" className="mt-2 -ml-3" onClick={() => setAll(true)}>
          All {count(people.length)} people
        </Button>
      )}
    </section>
  );
}

function Questions({ from, to, user }: { from: string; to: string; user: string }) {
  const [items, setItems] = useState<AskedQuestion[]>();
  const [next, setNext] = useState<string>();
  const [error, setError] = useState("");
  const [busy, setBusy] = useState(false);
  const load = (begin = "") => {
    setBusy(true);
    setError("");
    api
      .questions(from, to, user, begin)
      .then(
        (page) => {
          setItems((old) => (begin ? [...(old ?? []), ...page.questions] : page.questions));
          setNext(page.next);
        },
        (err) => setError(errorMessage(err)),
      )
      .finally(() => setBusy(false));
  };
  useEffect(() => load(), []);
  return (
    <section aria-labelledby="asked" className="mt-8">
      <h2 id="asked" className="text-sm font-semibold">
        Questions
      </h2>
      <ol className="mt-2" aria-busy={busy}>
        {items?.map((q) => (
          <Asked key={q.run} q={q} />
        ))}
      </ol>
      {items?.length === 0 && (
        <p className="text-sm text-ink-quiet">
          Only the newest 2,000 questions are listed, and none of them is from this period.
        </p>
      )}
      {error && (
        <p role="alert" className="mt-2 text-sm text-bad">
          {error}
        </p>
      )}
      {(next || error) && (
        <Button look="quiet" className="mt-2 -ml-3" disabled={busy} onClick={() => load(next)}>
          {error ? "Try again" : "Older"}
        </Button>
      )}
    </section>
  );
}

const outcomes: Record<string, string> = { failed: "failed", stopped: "was stopped", running: "is being answered" };

function Asked({ q }: { q: AskedQuestion }) {
  return (
    <li className="border-b py-2.5">
      <p dir="auto" className="line-clamp-2 text-left text-sm wrap-anywhere">
        {q.question ?? <span className="text-ink-quiet">The conversation was deleted, and the question with it.</span>}
      </p>
      <p className="tabular mt-0.5 flex flex-wrap gap-x-3 text-xs text-ink-quiet">
        <span className="text-ink-soft">{q.user}</span>
        <time dateTime={q.time}>{listTime(q.time)}</time>
        <span>{dollars(q.cost_usd)}</span>
        <span>{tokensWithWeight(q.tokens, q.weighted_tokens)}</span>
        {q.ms > 0 && <span>{duration(q.ms)}</span>}
        {outcomes[q.outcome] && (
          <span className={q.outcome === "failed" ? "text-bad" : ""}>
            {outcomes[q.outcome]}
            {q.code ? `: ${q.code.replaceAll("_", " ")}` : ""}
          </span>
        )}
      </p>
    </li>
  );
}
