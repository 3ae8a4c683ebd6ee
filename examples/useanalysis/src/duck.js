// DuckDB in this page, with one CSV file. Its rows stay in the page.
import { AsyncDuckDB, VoidLogger } from '@duckdb/duckdb-wasm';
import wasm from '@duckdb/duckdb-wasm/dist/duckdb-eh.wasm?url';
import worker from '@duckdb/duckdb-wasm/dist/duckdb-browser-eh.worker.js?url';

const quote = (name) => `"${String(name).replaceAll('"', '""')}"`;

export async function open(file) {
  const db = new AsyncDuckDB(new VoidLogger(), new Worker(worker));
  await db.instantiate(wasm);
  await db.open({ query: { castDecimalToDouble: true } });
  const conn = await db.connect();
  await conn.query('SET autoinstall_known_extensions=false; SET autoload_known_extensions=false');
  const table = file.name.replace(/\.\w+$/, '').replace(/\W+/g, '_').toLowerCase() || 'file';
  await db.registerFileBuffer('in.csv', new Uint8Array(await file.arrayBuffer()));
  await conn.query(`CREATE TABLE ${quote(table)} AS SELECT * FROM read_csv('in.csv', sample_size = -1)`);
  await db.dropFile('in.csv');
  // From here on, DuckDB can open no files and fetch nothing, and its settings are locked.
  await conn.query('SET enable_external_access=false; SET lock_configuration=true');

  const types = async (sql) => (await conn.query(`DESCRIBE ${sql}`)).toArray().map((r) => ({ name: r.column_name, type: r.column_type }));
  const columns = await types(quote(table));
  const rows = Number((await conn.query(`SELECT count(*) FROM ${quote(table)}`)).getChildAt(0).get(0));

  let last = Promise.resolve();
  const query = (sql) => {
    const next = last.then(() => read(sql));
    last = next.catch(() => {});
    return next;
  };
  async function read(sql) {
    const kinds = (await types(sql.replace(/;\s*$/, ''))).map((c) => ({ name: c.name, kind: kind(c.type) }));
    await conn.query('BEGIN TRANSACTION READ ONLY');
    try {
      const got = await conn.query(sql);
      const vectors = kinds.map((_, i) => got.getChildAt(i));
      const all = Array.from({ length: got.numRows }, (_, r) => vectors.map((v, i) => cell(v.get(r), kinds[i].kind)));
      return { columns: kinds, rows: all, rowCount: got.numRows, sql };
    } finally {
      await conn.query('ROLLBACK').catch(() => {});
    }
  }
  const known = (name) => {
    const c = columns.find((x) => x.name.toLowerCase() === String(name).toLowerCase());
    if (!c) throw new Error(`There is no column ${name}; there are ${columns.map((x) => x.name).join(', ')}.`);
    return c;
  };
  return {
    schema: { tables: [{ name: table, rows, columns }] },
    query,
    stats: (name) => {
      const c = known(name), q = quote(c.name);
      const avg = /INT|DOUBLE|FLOAT|DECIMAL/.test(c.type) ? `avg(${q})` : 'NULL';
      return query(`SELECT count(*) AS rows, count(*) - count(${q}) AS nulls, count(DISTINCT ${q}) AS "distinct", min(${q}) AS min, max(${q}) AS max, ${avg} AS avg FROM ${quote(table)}`);
    },
    distribution: (name, limit = 10) => {
      const q = quote(known(name).name);
      return query(`SELECT ${q} AS value, count(*) AS count FROM ${quote(table)} GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT ${Math.min(100, Math.max(1, Math.round(limit) || 10))}`);
    },
  };
}

function kind(type) {
  if (/^U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?$/.test(type)) return 'integer';
  if (/^(DOUBLE|FLOAT|DECIMAL)/.test(type)) return 'number';
  if (type === 'DATE') return 'date';
  if (type.startsWith('TIMESTAMP')) return 'timestamp';
  return type === 'BOOLEAN' ? 'boolean' : 'text';
}

function cell(v, k) {
  if (v === null || v === undefined) return null;
  if (k === 'date') return new Date(Number(v)).toISOString().slice(0, 10);
  if (k === 'timestamp') return new Date(Number(v)).toISOString().replace(/(\.000)?Z$/, '');
  if (typeof v === 'bigint') return Number.isSafeInteger(Number(v)) ? Number(v) : String(v);
  if (typeof v === 'number') return Number.isFinite(v) ? v : null;
  return typeof v === 'object' ? JSON.stringify(v, (_, x) => (typeof x === 'bigint' ? Number(x) : x)) : v;
}
