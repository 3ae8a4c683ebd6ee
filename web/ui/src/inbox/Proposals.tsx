import { useEffect, useState } from "react";
import { api, errorMessage, type Proposal } from "../api/client";
import { listTime } from "../lib/format";
import { Button } from "../ui/Button";
import { Warnings } from "./Correct";

/** The verified queries that administrators suggested. Another one approves or declines each. */
export function Proposals() {
  const [list, setList] = useState<Proposal[]>();
  const [error, setError] = useState("");
  useEffect(() => {
    api.proposals().then(
      (r) => setList(r.proposals),
      (err) => setError(errorMessage(err)),
    );
  }, []);
  if (error) {
    return (
      <p role="alert" className="mt-4 text-sm text-bad">
        {error}
      </p>
    );
  }
  if (!list?.length) return null;
  const replace = (p: Proposal) => setList((old) => old?.map((o) => (o.id === p.id ? p : o)));
  const open = list.filter((p) => p.state === "open");
  const closed = list.filter((p) => p.state !== "open");
  return (
    <section aria-label="Proposals" className="mt-6 mb-8">
      <h2 className="font-serif text-lg font-medium">Proposals</h2>
      {open.map((p) => (
        <One key={p.id} p={p} onDecided={replace} />
      ))}
      {closed.length > 0 && (
        <details className="mt-3 text-sm" open={open.length === 0 || undefined}>
          <summary className="w-fit cursor-pointer rounded-md text-ink-quiet hover:text-ink">Decided</summary>
          {closed.map((p) => (
            <One key={p.id} p={p} onDecided={replace} />
          ))}
        </details>
      )}
    </section>
  );
}

function One({ p, onDecided }: { p: Proposal; onDecided: (p: Proposal) => void }) {
  const [words, setWords] = useState("");
  const [error, setError] = useState("");
  const [busy, setBusy] = useState(false);
  const review = async (approve: boolean) => {
    setBusy(true);
    setError("");
    try {
      onDecided((await api.review(p.id, approve, words.trim())).proposal);
    } catch (err) {
      setError(errorMessage(err));
    } finally {
      setBusy(false);
    }
  };
  return (
    <article aria-label={p.name} className="border-b py-3">
      <h3 className="font-mono text-sm font-medium wrap-anywhere">{p.name}</h3>
      <p className="mt-0.5 flex flex-wrap gap-x-3 text-xs text-ink-quiet">
        <span className="text-ink-soft">{p.by}</span>
        <time dateTime={p.time}>{listTime(p.time)}</time>
        {p.state === "approved" && <span className="text-good">Approved by {p.reviewed_by}</span>}
        {p.state === "declined" && <span className="text-bad">Declined by {p.reviewed_by}</span>}
      </p>
      {p.words && (
        <blockquote dir="auto" className="mt-2 border-l-2 pl-3 text-left text-sm text-ink-soft wrap-anywhere">
          {p.words}
        </blockquote>
      )}
      <File text={p.query} />
      {p.state === "open" && (
        <>
          <p className="mt-2 text-sm text-ink-soft wrap-anywhere">
            Its test fails with the answer that was given: {p.fails}.
          </p>
          <Warnings list={p.warnings} />
          <details className="mt-2 text-sm">
            <summary className="w-fit cursor-pointer rounded-md text-ink-quiet hover:text-ink">The test</summary>
            <File text={p.test} />
          </details>
        </>
      )}
      {p.state === "open" &&
        (p.blocked ? (
          <p className="mt-2 text-sm text-ink-soft">{p.blocked}</p>
        ) : (
          <div className="mt-3 flex flex-wrap items-center gap-2">
            <input
              aria-label="Reason"
              placeholder="Reason (optional)"
              maxLength={2000}
              value={words}
              onChange={(e) => setWords(e.target.value)}
              className="h-9 min-w-0 grow rounded-md border bg-surface px-2.5 text-sm max-sm:basis-full"
            />
            <Button disabled={busy} onClick={() => void review(false)}>
              Decline
            </Button>
            <Button look="primary" disabled={busy} onClick={() => void review(true)}>
              Approve
            </Button>
          </div>
        ))}
      {p.unsaved && (
        <div className="mt-2 text-sm text-ink-soft">
          {p.unsaved} Apply the patch in the context folder with “git apply” or “patch -p1”.
          <div className="mt-2 flex flex-wrap gap-2">
            <a
              href={api.patchUrl(p.id)}
              download
              className="inline-flex h-9 items-center rounded-md border bg-surface px-3 font-medium hover:bg-hover"
            >
              Download the patch
            </a>
            <Button look="quiet" disabled={busy} onClick={() => void review(true)}>
              Try to write it again
            </Button>
          </div>
        </div>
      )}
      {error && (
        <p role="alert" className="mt-2 text-sm text-bad">
          {error}
        </p>
      )}
    </article>
  );
}

function File({ text }: { text: string }) {
  return (
    <pre
      tabIndex={0}
      className="mt-2 max-h-80 overflow-auto rounded-md bg-sunken p-2.5 font-mono text-xs whitespace-pre-wrap wrap-anywhere"
    >
      {text.trimEnd()}
    </pre>
  );
}
