// Runs model-written code. The server sends this file with a policy under which it can
// neither fetch nor import; the page ends the worker after a time limit.
const objects = (s) => s.rows.map((r) => Object.fromEntries(s.columns.map((c, i) => [c.name, r[i]])));

addEventListener('message', async ({ data: { code, source, steps } }) => {
  try {
    const all = steps.map((s) => (s ? objects(s) : []));
    const f = new Function('data', 'allSteps', `"use strict"; return (async () => {\n${code}\n})()`);
    const rows = [await f(all[source] ?? [], all)].flat();
    const names = [...new Set(rows.flatMap((r) => Object.keys(r)))];
    postMessage({ columns: names.map((name) => ({ name })), rows: rows.map((r) => names.map((n) => r[n] ?? null)), rowCount: rows.length });
  } catch (err) {
    postMessage({ error: err.name ?? 'Error' }); // the message may contain values of rows
  }
});
