import { useId, useState, type ReactNode } from "react";
import { api, errorMessage, type CheckedDraft, type Draft } from "../api/client";
import { Rows } from "../panes/Rows";
import { Button } from "../ui/Button";

const field = "mt-1 block w-full rounded-md border bg-surface px-2.5 py-1.5 text-sm";
const shownRows = 20;

/** Lets an administrator correct the statement of an answer, run it, and suggest it as a verified query. */
export function Correct({ draft, onProposed }: { draft: Draft; onProposed: () => void }) {
  const [open, setOpen] = useState(false);
  const [sent, setSent] = useState(false);
  if (sent) {
    return (
      <p role="status" className="mt-2 text-sm text-good">
        Suggested. It is in the list of proposals above.
      </p>
    );
  }
  if (!open) {
    return (
      <Button className="mt-2" onClick={() => setOpen(true)}>
        Correct the query
      </Button>
    );
  }
  return <Form draft={draft} onClose={() => setOpen(false)} onProposed={() => (setSent(true), onProposed())} />;
}

function Form({ draft, onClose, onProposed }: { draft: Draft; onClose: () => void; onProposed: () => void }) {
  const [sql, setSql] = useState(draft.sql);
  const [name, setName] = useState(draft.name);
  const [question, setQuestion] = useState(draft.question);
  const [paraphrases, setParaphrases] = useState("");
  const [parameters, setParameters] = useState(draft.parameters.join("\n"));
  const [roles, setRoles] = useState("");
  const [expires, setExpires] = useState("");
  const [checked, setChecked] = useState<{ of: string; answer: CheckedDraft }>();
  const [error, setError] = useState("");
  const [busy, setBusy] = useState(false);
  const now: Draft = {
    ...draft,
    sql,
    name: name.trim(),
    question: question.trim(),
    paraphrases: lines(paraphrases),
    parameters: lines(parameters),
    ...(roles.trim() && { roles: roles.split(",").map((r) => r.trim()) }),
    ...(expires && { expires }),
  };
  const state = JSON.stringify(now);
  const fresh = checked?.of === state ? checked.answer : undefined; // only what was run can be proposed
  const run = async (check: boolean) => {
    setBusy(true);
    setError("");
    try {
      const answer = await api.propose(now, check);
      if (check) setChecked({ of: state, answer });
      else onProposed();
    } catch (err) {
      setError(errorMessage(err));
    } finally {
      setBusy(false);
    }
  };
  return (
    <form
      aria-label="Correct the query"
      className="mt-3 grid max-w-thread gap-3 rounded-md border bg-sunken p-4"
      onSubmit={(e) => {
        e.preventDefault();
        void run(true);
      }}
    >
      <Field label={`Query on ${draft.source}`} hint="Change it until its rows are right.">
        {(id) => (
          <textarea
            id={id}
            autoFocus
            spellCheck={false}
            rows={Math.min(14, sql.split("\n").length + 2)}
            value={sql}
            onChange={(e) => setSql(e.target.value)}
            className={`${field} resize-y font-mono text-xs`}
          />
        )}
      </Field>
      <Field label="Question" hint="Write {month} where a value of a parameter stands.">
        {(id) => <input id={id} value={question} onChange={(e) => setQuestion(e.target.value)} className={field} />}
      </Field>
      <Field label="Other wordings" hint="One on each line.">
        {(id) => (
          <textarea
            id={id}
            rows={2}
            value={paraphrases}
            onChange={(e) => setParaphrases(e.target.value)}
            className={`${field} resize-y`}
          />
        )}
      </Field>
      <Field label="Parameters" hint="One on each line, for $1, $2, …: month month, or status one of open, closed.">
        {(id) => (
          <textarea
            id={id}
            rows={Math.max(1, parameters.split("\n").length)}
            value={parameters}
            onChange={(e) => setParameters(e.target.value)}
            className={`${field} resize-y font-mono text-xs`}
          />
        )}
      </Field>
      <Field label="Name" hint="Small letters, digits and _.">
        {(id) => (
          <input
            id={id}
            value={name}
            onChange={(e) => setName(e.target.value)}
            className={`${field} font-mono text-xs`}
          />
        )}
      </Field>
      <Field label="Roles" hint="Who may use it, separated by commas. Empty: everybody.">
        {(id) => <input id={id} value={roles} onChange={(e) => setRoles(e.target.value)} className={field} />}
      </Field>
      <Field label="Expires" hint="The last day on which it may be used. Empty: never.">
        {(id) => (
          <input id={id} type="date" value={expires} onChange={(e) => setExpires(e.target.value)} className={field} />
        )}
      </Field>
      {fresh && <Checked answer={fresh} />}
      {error && (
        <p role="alert" className="text-sm text-bad wrap-anywhere">
          {error}
        </p>
      )}
      <div className="flex flex-wrap justify-end gap-2">
        <Button look="quiet" onClick={onClose}>
          Cancel
        </Button>
        <Button type="submit" disabled={busy}>
          Run
        </Button>
        <Button look="primary" disabled={busy || !fresh} onClick={() => void run(false)}>
          Suggest as verified
        </Button>
      </div>
    </form>
  );
}

function lines(text: string): string[] {
  return text
    .split("\n")
    .map((l) => l.trim())
    .filter(Boolean);
}

function Field({ label, hint, children }: { label: string; hint: string; children: (id: string) => ReactNode }) {
  const id = useId();
  return (
    <div>
      <label htmlFor={id} className="text-sm font-medium">
        {label}
      </label>
      <span className="ml-2 text-xs text-ink-quiet">{hint}</span>
      {children(id)}
    </div>
  );
}

/** The rows of a statement that ran, and what its test says about the answer that was given. */
function Checked({ answer }: { answer: CheckedDraft }) {
  const { columns, rows, row_count } = answer.result;
  return (
    <div role="status" className="text-sm">
      <div className="max-h-64 overflow-auto rounded-md border bg-surface">
        <Rows columns={columns} rows={rows.slice(0, shownRows)} label="Rows of the corrected query" />
      </div>
      {row_count > shownRows && (
        <p className="mt-1 text-xs text-ink-quiet">
          The first {shownRows} of {row_count} rows.
        </p>
      )}
      <p className="mt-2 text-ink-soft wrap-anywhere">Its test fails with the answer that was given: {answer.fails}.</p>
      <Warnings list={answer.warnings} />
    </div>
  );
}

/** What the people who decide should look at. */
export function Warnings({ list }: { list: readonly string[] }) {
  return list.map((w) => (
    <p key={w} className="mt-1 text-sm text-bad wrap-anywhere">
      {w}
    </p>
  ));
}
