import { useEffect, useState } from "react";
import { api, errorMessage, type Suite, type TestRun } from "../api/client";
import { duration, listTime, plural } from "../lib/format";
import { Button } from "../ui/Button";
import { differences, passed } from "./compare";

const modes: Record<TestRun["mode"], string> = {
  planner: "offline planner",
  recordings: "recordings",
  live: "model",
};
const marks: Record<string, string> = {
  passed: "text-good",
  failed: "text-bad",
  stale: "text-bad",
  broken: "text-bad",
};
const cell = "border-b px-2 py-1.5 text-left align-top";

/** The suites of tests of answers, with their runs and what changed between two of them. Only for administrators. */
export default function TestsPage({ admin }: { admin: boolean }) {
  useEffect(() => {
    document.title = "Tests of answers · Footnote";
    return () => void (document.title = "Footnote");
  }, []);
  return (
    <div className="scroll min-h-0 flex-1">
      <div className="mx-auto w-full max-w-page px-5 pt-4 pb-12">
        <h1 className="font-serif text-2xl font-medium tracking-tight">Tests of answers</h1>
        {admin ? (
          <Suites />
        ) : (
          <p role="alert" className="mt-1 max-w-thread text-ink-soft">
            Only administrators can see the tests and run them.
          </p>
        )}
      </div>
    </div>
  );
}

function Suites() {
  const [suites, setSuites] = useState<Suite[]>();
  const [error, setError] = useState("");
  const load = () =>
    api.tests().then(
      (r) => setSuites(r.suites),
      (err) => setError(errorMessage(err)),
    );
  useEffect(() => void load(), []);
  if (error) {
    return (
      <p role="alert" className="mt-4 max-w-thread text-sm text-bad">
        {error}
      </p>
    );
  }
  return (
    <>
      <p className="mt-1 max-w-thread text-ink-soft">
        Questions with the rows that their answers must rest on. Run them after a change of the data, the context or the
        model.
      </p>
      {!suites && (
        <p role="status" className="mt-6 text-sm text-ink-quiet">
          Loading.
        </p>
      )}
      {suites?.length === 0 && (
        <p className="mt-6 text-sm text-ink-quiet">
          There are none. Put files with tests into the folder “tests” of the context, or set “tests.suite”.
        </p>
      )}
      {suites?.map((s) => (
        <OneSuite key={s.name} suite={s} onRan={load} />
      ))}
    </>
  );
}

function OneSuite({ suite, onRan }: { suite: Suite; onRan: () => Promise<void> }) {
  const [mode, setMode] = useState(suite.modes.at(-1) ?? "planner");
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState("");
  const run = async () => {
    setBusy(true);
    setError("");
    try {
      await api.runTests(suite.name, mode);
      await onRan();
    } catch (err) {
      setError(errorMessage(err));
    } finally {
      setBusy(false);
    }
  };
  return (
    <section aria-label={suite.name} className="mt-8">
      <div className="flex flex-wrap items-center gap-x-3 gap-y-2">
        <h2 className="font-serif text-lg font-medium">{suite.name}</h2>
        <span className="text-sm text-ink-quiet">{plural(suite.tests.length, "test")}</span>
        {!suite.fault && (
          <div className="flex gap-2 sm:ml-auto">
            {suite.modes.length > 1 && (
              <select
                aria-label="Who answers"
                value={mode}
                onChange={(e) => setMode(e.target.value as typeof mode)}
                className="h-9 rounded-md border bg-surface px-2 text-sm"
              >
                {suite.modes.map((m) => (
                  <option key={m} value={m}>
                    {modes[m]}
                  </option>
                ))}
              </select>
            )}
            <Button look="primary" disabled={busy} onClick={() => void run()}>
              {busy ? "Running" : "Run the tests"}
            </Button>
          </div>
        )}
      </div>
      {(error || suite.fault) && (
        <p role="alert" className="mt-2 text-sm text-bad">
          {error || suite.fault}
        </p>
      )}
      {suite.runs.length > 0 ? (
        <>
          <Trend runs={suite.runs} />
          <Runs runs={suite.runs} />
        </>
      ) : (
        !suite.fault && <p className="mt-3 text-sm text-ink-quiet">They have not run yet.</p>
      )}
    </section>
  );
}

/** A bar for each run, the oldest first: how many of its tests passed. */
function Trend({ runs }: { runs: readonly TestRun[] }) {
  const shown = runs.slice(0, 30).reverse();
  const words = shown.map((r) => `${passed(r)} of ${Object.keys(r.tests).length}`);
  return (
    <div
      role="img"
      aria-label={`Passed, oldest run first: ${words.join(", ")}`}
      className="mt-4 flex h-16 items-end gap-1"
    >
      {shown.map((r) => {
        const all = Object.keys(r.tests).length;
        return (
          <div
            key={r.time}
            title={`${listTime(r.time)}: ${passed(r)} of ${all} passed`}
            className="flex h-full w-3 flex-col justify-end overflow-hidden rounded-sm bg-bad-soft"
          >
            <div
              className={passed(r) === all ? "bg-good" : "bg-accent"}
              style={{ height: `${all ? (100 * passed(r)) / all : 0}%` }}
            />
          </div>
        );
      })}
    </div>
  );
}

/** The runs, and the differences between two of them: at first between the newest and the one before. */
function Runs({ runs }: { runs: readonly TestRun[] }) {
  const [chosen, setChosen] = useState<{ after?: string; before?: string }>({});
  const after = runs.find((r) => r.time === chosen.after) ?? runs[0]!;
  const before = runs.find((r) => r.time === chosen.before) ?? runs[runs.indexOf(after) + 1];
  return (
    <>
      <div className="mt-4 overflow-x-auto">
        <table className="tabular w-full text-sm" aria-label="Runs">
          <thead className="text-xs text-ink-quiet">
            <tr>
              {["New", "Old", "When", "Passed", "Answered by", "Context", "Took"].map((h) => (
                <th key={h} scope="col" className={`${cell} font-normal whitespace-nowrap`}>
                  {h}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {runs.slice(0, 20).map((r) => (
              <tr key={r.time}>
                {(["after", "before"] as const).map((which) => (
                  <td key={which} className={`${cell} w-px`}>
                    <input
                      type="radio"
                      aria-label={`${which === "after" ? "New" : "Old"} run: ${listTime(r.time)}`}
                      checked={r === (which === "after" ? after : before)}
                      onChange={() => setChosen({ after: after.time, before: before?.time, [which]: r.time })}
                    />
                  </td>
                ))}
                <td className={`${cell} whitespace-nowrap`}>
                  <time dateTime={r.time}>{listTime(r.time)}</time>
                  <span className="ml-2 text-xs text-ink-quiet">{r.scheduled ? "scheduled" : r.by}</span>
                </td>
                <td className={`${cell} whitespace-nowrap`}>
                  {passed(r)} of {Object.keys(r.tests).length}
                </td>
                <td className={`${cell} whitespace-nowrap`}>
                  {r.model === "offline-planner" ? modes.planner : `${r.model}, ${modes[r.mode]}`}
                </td>
                <td className={`${cell} font-mono text-xs`}>{r.context?.replace("sha256:", "").slice(0, 8)}</td>
                <td className={`${cell} whitespace-nowrap`}>{duration(r.ms)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {before && before !== after && <Changed before={before} after={after} />}
      <Unpassed run={after} />
    </>
  );
}

function Changed({ before, after }: { before: TestRun; after: TestRun }) {
  const list = differences(before, after);
  return (
    <>
      <h3 className="mt-6 font-medium">What differs between the old and the new run</h3>
      {list.length === 0 ? (
        <p className="mt-1 text-sm text-ink-quiet">Every test has the same outcome.</p>
      ) : (
        <table className="mt-2 w-full text-sm" aria-label="Differences">
          <thead className="text-xs text-ink-quiet">
            <tr>
              {["Test", "Old run", "New run"].map((h) => (
                <th key={h} scope="col" className={`${cell} font-normal whitespace-nowrap`}>
                  {h}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {list.map((d) => (
              <tr key={d.name}>
                <td className={`${cell} wrap-anywhere`}>
                  {d.name}
                  {d.reasons.map((r) => (
                    <p key={r} className="text-xs text-ink-quiet">
                      {r}
                    </p>
                  ))}
                </td>
                <td className={`${cell} ${marks[d.before] ?? "text-ink-quiet"}`}>{d.before || "none"}</td>
                <td className={`${cell} ${marks[d.after] ?? "text-ink-quiet"}`}>{d.after || "none"}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </>
  );
}

/** The tests of a run that did not pass, and why. */
function Unpassed({ run }: { run: TestRun }) {
  const list = Object.entries(run.tests).filter(([, s]) => s !== "passed");
  if (list.length === 0) return null;
  return (
    <>
      <h3 className="mt-6 font-medium">What did not pass in the new run</h3>
      <ul className="mt-1 text-sm wrap-anywhere" aria-label="Not passed">
        {list.map(([name, status]) => (
          <li key={name} className="border-b py-2">
            {name} <span className={marks[status]}>{status}</span>
            {run.reasons?.[name]?.map((r) => (
              <p key={r} className="text-xs text-ink-quiet">
                {r}
              </p>
            ))}
          </li>
        ))}
      </ul>
    </>
  );
}
