// The unmodified SDK of the Model Context Protocol, versions 1 and 2, against the program with an imitated model, over
// HTTP and on standard streams. Lines "fake: …" of a question script the model, and "fault: NAME" makes it fail. test/e2e starts
// both and runs this.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { Client as ClientV2, StreamableHTTPClientTransport as HTTPTransportV2 } from '@modelcontextprotocol/client';
import { StdioClientTransport as StdioTransportV2 } from '@modelcontextprotocol/client/stdio';

const base = process.env.FOOTNOTE_TEST_URL;
const key = process.env.FOOTNOTE_TEST_KEY;
assert.ok(base && key, 'FOOTNOTE_TEST_URL and FOOTNOTE_TEST_KEY must name the server and a key');

async function connected(t, transport, client = new Client({ name: 'test', version: '1' })) {
  await client.connect(transport);
  t.after(() => client.close());
  return client;
}

// A client of version 2 that prefers the newest revision.
const newest = () => new ClientV2({ name: 'test', version: '1' }, { versionNegotiation: { mode: 'auto' } });

const address = new URL(`${base}/mcp`);
const headers = (bearer) => ({ requestInit: { headers: { authorization: `Bearer ${bearer}` } } });
const overHTTP = (t, bearer = key) => connected(t, new StreamableHTTPClientTransport(address, headers(bearer)));
const overHTTPV2 = (t) => connected(t, new HTTPTransportV2(address, headers(key)), newest());

const program = () => ({
  command: process.env.FOOTNOTE_TEST_PROGRAM, args: ['mcp'],
  env: Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('FOOTNOTE_TEST_'))),
});
const onStreams = (t) => connected(t, new StdioClientTransport(program()));
const onStreamsV2 = (t) => connected(t, new StdioTransportV2(program()), newest());

// Version 1 takes the schema of the result before the options.
const call = (client, args, options) => client.callTool({ name: 'ask', arguments: args },
  ...(client instanceof ClientV2 ? [options] : [undefined, options]));
const ask = (client, question, more = {}, options) => call(client, { question, ...more }, options);

async function runs(state) {
  const res = await fetch(`${base}/api/conversations`, { headers: { authorization: `Bearer ${key}` } });
  return (await res.json()).conversations.filter((c) => c.state === state).length;
}

async function until(done) {
  for (let tries = 0; tries < 500 && !(await done()); tries++) await new Promise((resolve) => setTimeout(resolve, 10));
  assert.ok(await done());
}

for (const [where, connect] of [
  ['over HTTP', overHTTP], ['on standard streams', onStreams],
  ['version 2 over HTTP', overHTTPV2], ['version 2 on standard streams', onStreamsV2],
]) {
  test(`${where}: the tools`, async (t) => {
    const client = await connect(t);
    const list = await client.listTools();
    assert.deepEqual(list.tools.map((x) => x.name).sort(), ['ask', 'chart', 'query', 'result', 'schema']);
    assert.ok(JSON.stringify(list).length < 8192);
    assert.ok(list.tools.every((x) => x.annotations.readOnlyHint));
    if (client instanceof ClientV2) assert.equal(client.getNegotiatedProtocolVersion(), '2026-07-28');
  });

  test(`${where}: an answer with footnotes, its rows and resources`, async (t) => {
    const client = await connect(t);
    const steps = [];
    const res = await ask(client, 'How many orders?', {}, { onprogress: (p) => steps.push(p.message) });
    const { answer, status, footnotes, results, conversation, cost } = res.structuredContent;
    assert.equal(status, 'complete', JSON.stringify(res));
    assert.match(res.content[0].text, /846/);
    const cited = footnotes.find((f) => f.text === '846');
    assert.equal(answer.slice(cited.start, cited.end), '846');
    assert.match(cited.sql, /orders/i);
    assert.equal(cited.source, 'shop');
    assert.ok(cost.tokens > 0);
    assert.ok(steps.length >= 2, steps.join());
    const id = results.find((r) => r.name === cited.result).id;
    const page = await client.callTool({ name: 'result', arguments: { id } });
    assert.equal(String(page.structuredContent.rows[cited.row][0]), '846');
    const read = await client.readResource({ uri: `footnote://results/${id}` });
    assert.deepEqual(JSON.parse(read.contents[0].text).rows, page.structuredContent.rows);
    const app = await client.readResource({ uri: 'ui://footnote/answer' });
    assert.equal(app.contents[0].mimeType, 'text/html;profile=mcp-app');
    const again = await ask(client, 'And now?', { conversation });
    assert.equal(again.structuredContent.conversation, conversation);
  });

  test(`${where}: queries, hostile ones too`, async (t) => {
    const client = await connect(t);
    const rows = await client.callTool({ name: 'query', arguments: { sql: 'SELECT count(*) AS n FROM orders', source: 'shop' } });
    assert.deepEqual(rows.structuredContent.rows, [[846]]);
    const stored = await client.callTool({ name: 'result', arguments: { id: rows.structuredContent.id } });
    assert.deepEqual(stored.structuredContent.rows, [[846]]);
    for (const sql of ['DELETE FROM orders', 'SELECT 1; DROP TABLE orders', "ATTACH 'x.db' AS x", 'PRAGMA writable_schema=1']) {
      const res = await client.callTool({ name: 'query', arguments: { sql, source: 'shop' } });
      assert.equal(res.isError, true, sql);
      assert.match(res.content[0].text, /refused/, sql);
    }
  });

  test(`${where}: a call that is cancelled ends the run`, async (t) => {
    const client = await connect(t);
    const { continue: id } = (await ask(client, 'fault: silent', { wait_seconds: 1 })).structuredContent;
    const cancel = new AbortController();
    // The first step that the server reports shows that it works on the call.
    const waiting = new Promise((resolve) => {
      call(client, { continue: id, wait_seconds: 60 }, { signal: cancel.signal, onprogress: () => cancel.abort() })
        .then(() => resolve('answered'), () => resolve('cancelled'));
    });
    assert.equal(await waiting, 'cancelled');
    const status = async () => (await call(client, { continue: id, wait_seconds: 1 })).structuredContent.status;
    await until(async () => (await status()) !== 'running');
  });
}

test('a client that cancels ends the run', async (t) => {
  const client = await overHTTP(t);
  const cancel = new AbortController();
  const call = ask(client, 'fault: silent', {}, { signal: cancel.signal }).then(() => 'answered', () => 'cancelled');
  await until(async () => await runs('running') === 1);
  cancel.abort();
  assert.equal(await call, 'cancelled');
  await until(async () => await runs('running') === 0);
});

test('a long answer is continued', async (t) => {
  const client = await overHTTP(t);
  const first = (await ask(client, 'fault: silent', { wait_seconds: 1 })).structuredContent;
  assert.equal(first.status, 'running');
  const second = (await client.callTool({ name: 'ask', arguments: { continue: first.continue, wait_seconds: 1 } })).structuredContent;
  assert.deepEqual([second.status, second.run], ['running', first.run]);
});

test('without a key, nothing', async (t) => {
  await assert.rejects(overHTTP(t, 'not-a-key-of-anybody'));
});
