import { useEffect, useState } from "react";
import { api, errorMessage, type InboxItem } from "../api/client";
import { count, listTime, plural } from "../lib/format";
import { Sql } from "../panes/Sql";
import { Prose } from "../thread/Answer";
import { Button } from "../ui/Button";
import { Correct } from "./Correct";
import { Proposals } from "./Proposals";

/** The answers that people rated as bad, or that have numbers without a footnote. Only for administrators. */
export default function InboxPage({ org, admin }: { org: string; admin: boolean }) {
  useEffect(() => {
    document.title = "Answers to check · Footnote";
    return () => void (document.title = "Footnote");
  }, []);
  return (
    <div className="scroll min-h-0 flex-1">
      <div className="mx-auto w-full max-w-page px-5 pt-4 pb-12">
        <h1 className="font-serif text-2xl font-medium tracking-tight">Answers to check</h1>
        {admin ? (
          <Lists org={org} />
        ) : (
          <p role="alert" className="mt-1 max-w-thread text-ink-soft">
            Only administrators can see the answers that others got.
          </p>
        )}
      </div>
    </div>
  );
}

/** The proposals and the answers. A new proposal reloads the list of proposals. */
function Lists({ org }: { org: string }) {
  const [proposed, setProposed] = useState(0);
  return (
    <>
      <Proposals key={proposed} />
      <Items org={org} onProposed={() => setProposed((n) => n + 1)} />
    </>
  );
}

function Items({ org, onProposed }: { org: string; onProposed: () => void }) {
  const [items, setItems] = useState<InboxItem[]>();
  const [next, setNext] = useState<string>();
  const [incomplete, setIncomplete] = useState(false);
  const [error, setError] = useState("");
  const [busy, setBusy] = useState(false);
  const load = (begin = "") => {
    setBusy(true);
    setError("");
    api
      .inbox(begin)
      .then(
        (page) => {
          setItems((old) => (begin ? [...(old ?? []), ...page.items] : page.items));
          setNext(page.next);
          setIncomplete(page.incomplete ?? false);
        },
        (err) => setError(errorMessage(err)),
      )
      .finally(() => setBusy(false));
  };
  useEffect(() => load(), []);
  return (
    <>
      <p className="mt-1 max-w-thread text-ink-soft">
        What people in {org} rated as bad, and answers with numbers that have no footnote.
      </p>
      {incomplete && (
        <p role="status" className="mt-6 text-sm text-ink-quiet">
          This list is incomplete. Footnote is still reading a long log.
        </p>
      )}
      <ol className="mt-6" aria-label="Answers to check" aria-busy={busy}>
        {items?.map((item) => (
          <Item key={`${item.conversation} ${item.seq}`} item={item} onProposed={onProposed} />
        ))}
      </ol>
      {items?.length === 0 && <p className="text-sm text-ink-quiet">There are none.</p>}
      {!items && !error && (
        <p role="status" className="text-sm text-ink-quiet">
          Loading.
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
    </>
  );
}

function Item({ item, onProposed }: { item: InboxItem; onProposed: () => void }) {
  const n = item.flagged.length;
  const draft = item.results.findLast((r) => r.draft)?.draft;
  return (
    <li className="border-b py-4">
      <h2 dir="auto" className="text-left font-medium wrap-anywhere">
        {item.question ?? "The question is no longer known"}
      </h2>
      <p className="tabular mt-0.5 flex flex-wrap gap-x-3 text-xs text-ink-quiet">
        <span className="text-ink-soft">{item.user}</span>
        <time dateTime={item.time}>{listTime(item.time)}</time>
        {item.rated_bad && <span className="text-bad">Rated as bad</span>}
        {n > 0 && <span className="text-bad">{plural(n, "number")} without a footnote</span>}
      </p>
      {item.words && (
        <blockquote dir="auto" className="mt-2 border-l-2 pl-3 text-left text-sm text-ink-soft wrap-anywhere">
          {item.words}
        </blockquote>
      )}
      <div className="mt-2 max-w-thread wrap-anywhere">
        <Prose text={item.answer} />
      </div>
      {n > 0 && (
        <ul className="mt-2 list-disc pl-5 text-sm text-ink-soft wrap-anywhere">
          {item.flagged.map((f, i) => (
            <li key={i}>
              {f.text}
              {f.reason && `: ${f.reason}`}
            </li>
          ))}
        </ul>
      )}
      {item.results.length > 0 && (
        <details className="mt-2 text-sm">
          <summary className="w-fit cursor-pointer rounded-md text-ink-quiet hover:text-ink">
            {item.results.length === 1 ? "The query behind it" : `The ${count(item.results.length)} queries behind it`}
          </summary>
          {item.results.map((r) => (
            <Sql key={r.id} sql={r.sql} className="mt-2" />
          ))}
        </details>
      )}
      {draft && <Correct draft={draft} onProposed={onProposed} />}
    </li>
  );
}
