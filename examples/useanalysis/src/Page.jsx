import { useMemo, useState } from 'react';
import { open } from './duck.js';
import { transform } from './transform.js';
import { useAnalysis } from './useAnalysis.js';

export function Page() {
  const [data, setData] = useState(null);
  const [says, setSays] = useState('');
  const [cells, setCells] = useState(0); // how many may be sent; none until the user chooses
  const [question, setQuestion] = useState('');
  const tools = useMemo(
    () => ({
      run_query: ({ sql }) => quiet(() => data.query(sql)),
      get_column_stats: ({ column }) => data.stats(column),
      get_value_distribution: ({ column, limit }) => data.distribution(column, limit),
      transform_data: ({ code, sourceStep }, { steps }) => transform(code, sourceStep, steps),
    }),
    [data],
  );
  // Sends whole rows from the top, up to the cell limit. Column names are always sent, so
  // this example does not support PIVOT, which turns values into names.
  const share = (w) => ({ columns: w.columns, rows: w.rows.slice(0, Math.floor(cells / w.columns.length)), rowCount: w.rowCount, sql: w.sql });
  const analysis = useAnalysis({ schema: () => data.schema, tools, share });

  const pick = async (file) => {
    if (!file) return;
    setSays('Opening');
    try {
      const opened = await open(file);
      setData(opened);
      analysis.reset();
      const [t] = opened.schema.tables;
      setSays(`${t.name}: ${t.rows} rows, ${t.columns.map((c) => c.name).join(', ')}`);
    } catch (err) {
      setSays(err.message);
    }
  };
  return (
    <main>
      <h1>Ask a file</h1>
      <p>
        <label>
          CSV file <input type="file" accept=".csv" onChange={(e) => void pick(e.target.files[0])} />
        </label>
        <label>
          Send to the model{' '}
          <select value={cells} onChange={(e) => setCells(Number(e.target.value))}>
            <option value={0}>no values</option>
            <option value={50}>up to 50 values per result</option>
            <option value={1000}>up to 1,000 values per result</option>
          </select>
        </label>
      </p>
      <p role="status">{says}</p>
      <form
        onSubmit={(e) => {
          e.preventDefault();
          void analysis.ask(question);
        }}
      >
        <input aria-label="Question" value={question} onChange={(e) => setQuestion(e.target.value)} />
        <button disabled={!data || !question.trim() || analysis.state === 'asking'}>Ask</button>
      </form>
      <Analysis {...analysis} />
    </main>
  );
}

/** An error raised while reading rows may contain values, so only its kind is reported. */
async function quiet(run) {
  try {
    return await run();
  } catch (err) {
    const kind = /^(?:Error: )?([A-Z]\w*(?: [A-Z]\w*)* Error)/.exec(err.message)?.[1] ?? 'Error';
    throw new Error(/Parser|Binder|Catalog/.test(kind) ? err.message : `${kind}: the statement failed while it read rows.`);
  }
}

function Analysis({ state, thinking, steps, result, error }) {
  return (
    <section aria-label="Answer" aria-busy={state === 'asking'} data-state={state}>
      {thinking && <details><summary>Thinking</summary><pre>{thinking}</pre></details>}
      <ol>
        {steps.map((s) => (
          <li key={s.id}>
            {s.input.thought} <code>{s.input.sql ?? s.name}</code> <em>{s.state}</em>
          </li>
        ))}
      </ol>
      {error && <p role="alert">{error}</p>}
      {result && (
        <>
          <p><Noted text={result.answer} notes={result.footnotes} /></p>
          {result.chartType === 'bar' && <Bars {...result} />}
          <Table {...result} />
        </>
      )}
    </section>
  );
}

/** Shows the answer with its footnotes; their offsets are UTF-16 code units. */
function Noted({ text, notes }) {
  const parts = [];
  let at = 0;
  for (const n of notes) {
    if (n.start < at) continue;
    parts.push(text.slice(at, n.start), <mark key={n.start} title={n.formula ?? `${n.column}, row ${(n.row ?? 0) + 1} of ${n.result}`}>{text.slice(n.start, n.end)}</mark>);
    at = n.end;
  }
  return [...parts, text.slice(at)];
}

function Bars({ columns, rows, xAxis, yAxis }) {
  const x = columns.findIndex((c) => c.name === xAxis), y = columns.findIndex((c) => c.name === yAxis);
  const some = rows.slice(0, 20), most = Math.max(0, ...some.map((r) => Number(r[y]) || 0));
  if (x < 0 || y < 0 || !most) return null;
  return (
    <figure role="img" aria-label={`${yAxis} by ${xAxis}`}>
      {some.map((r) => (
        <div key={String(r[x])} className="bar">
          <span>{String(r[x])}</span>
          <meter min={0} max={most} value={Number(r[y]) || 0} />
          <span>{Number(r[y]).toLocaleString('en-US')}</span>
        </div>
      ))}
    </figure>
  );
}

function Table({ columns, rows, rowCount }) {
  if (!columns.length) return null;
  return (
    <table>
      <caption>{rowCount} rows</caption>
      <thead><tr>{columns.map((c) => <th key={c.name}>{c.name}</th>)}</tr></thead>
      <tbody>{rows.slice(0, 100).map((r, i) => <tr key={i}>{r.map((v, j) => <td key={j}>{String(v ?? '')}</td>)}</tr>)}</tbody>
    </table>
  );
}
