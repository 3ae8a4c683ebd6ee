// A page that uses the native stream, with the npm package eventsource, against the program.
// Lines "fake: …" of a question script the model. test/e2e starts both and runs this.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, test } from 'node:test';
import { EventSource } from 'eventsource';

const base = process.env.FOOTNOTE_TEST_URL;
const key = process.env.FOOTNOTE_TEST_KEY;
const otherKey = process.env.FOOTNOTE_TEST_OTHER_KEY;
assert.ok(base && key && otherKey, 'FOOTNOTE_TEST_URL, FOOTNOTE_TEST_KEY and FOOTNOTE_TEST_OTHER_KEY must name the server and two keys');

const auth = { authorization: `Bearer ${key}` };
const call = (name, input) => `fake: call ${name} ${JSON.stringify({ thought: 'To know.', ...input })}`;
const query = call('run_query', { sql: 'SELECT 42 AS n' });
const send = (path, body, headers = auth) => fetch(`${base}${path}`, {
  method: 'POST', headers: { ...headers, 'content-type': 'application/json' }, body: typeof body === 'string' ? body : JSON.stringify(body),
});

const open = new Set();
after(() => open.forEach((es) => es.close()));

// ask opens a stream like a page, and keeps all frames and their ids. Each connection may be
// cut after some bytes.
function ask(params, { cut = () => Infinity, from } = {}) {
  const page = { frames: [], ids: [], statuses: [], positions: [], named: 0 };
  const url = `${base}/api/analyze?${new URLSearchParams(params)}`;
  const es = new EventSource(url, {
    fetch: async (input, init) => {
      const headers = { ...init.headers, ...auth };
      if (from !== undefined && page.statuses.length === 0) headers['Last-Event-ID'] = from;
      page.positions.push(headers['Last-Event-ID']);
      const res = await fetch(input, { ...init, headers });
      page.statuses.push(res.status);
      const limit = cut(page.statuses.length);
      if (res.body === null) return res;
      const reader = res.body.getReader();
      let left = limit;
      const body = new ReadableStream({
        start(to) { to.enqueue(new TextEncoder().encode('retry: 20\n\n')); }, // instead of three seconds
        async pull(to) {
          const { done, value } = await reader.read();
          if (done) { to.close(); return; }
          to.enqueue(value.subarray(0, left));
          left -= value.length;
          if (left <= 0) { await reader.cancel(); to.close(); }
        },
      });
      return { body, url: res.url, status: res.status, redirected: false, headers: res.headers };
    },
  });
  open.add(es);
  es.onmessage = (e) => {
    page.frames.push(JSON.parse(e.data));
    page.ids.push(e.lastEventId);
    page.wake?.();
  };
  es.onerror = () => page.wake?.();
  page.es = es;
  page.until = async (done, what) => {
    for (const end = Date.now() + 20_000; !done();) {
      assert.ok(Date.now() < end, `waited in vain for ${what}: ${JSON.stringify(page.frames)} ${page.statuses}`);
      await new Promise((resolve) => { page.wake = resolve; setTimeout(resolve, 50); });
    }
  };
  page.find = async (type, n = 1) => {
    const all = () => page.frames.filter((f) => f.type === type);
    await page.until(() => all().length >= n, `${type} ${n}`);
    return all()[n - 1];
  };
  page.closed = () => page.until(() => es.readyState === EventSource.CLOSED, 'the end');
  page.result = async (toolCallId, result, headers) => send('/api/analyze/tool-result', { sessionId: (await page.find('session')).sessionId, toolCallId, result }, headers);
  return page;
}

const table = { columns: ['n'], rows: [[42]], rowCount: 1 };
const words = (frames) => frames.filter((f) => f.type === 'thinking').map((f) => f.content).join('');
const others = (frames) => frames.filter((f) => f.type !== 'thinking');

async function runs(sessionId) {
  const res = await fetch(`${base}/api/conversations/${sessionId}/events`, { headers: auth });
  return (await res.text()).trim().split('\n').map((line) => JSON.parse(line)).filter((e) => e.kind === 'run_started').length;
}

test('a question, a query of the page, an answer; the reconnect after it ends the stream', async () => {
  const page = ask({ question: `fake: think Hm.\n${query}`, request_id: randomUUID() });
  const toolCall = await page.find('tool_call');
  assert.deepEqual({ ...toolCall, id: '' }, { type: 'tool_call', id: '', name: 'run_query', input: { thought: 'To know.', sql: 'SELECT 42 AS n' }, side: 'client', step: 0 });
  assert.deepEqual(await (await page.result(toolCall.id, table)).json(), { ok: true, duplicate: false });
  assert.deepEqual(await (await page.result(toolCall.id, table)).json(), { ok: true, duplicate: true });
  const different = await page.result(toolCall.id, { ...table, rows: [[43]] });
  assert.equal(different.status, 409);
  assert.equal((await different.json()).error.code, 'call_answered');
  const { result } = await page.find('answer');
  assert.deepEqual(Object.keys(result).filter((k) => ['answer', 'chartType', 'columns', 'rows', 'sql', 'footnotes'].includes(k)).length, 6);
  assert.deepEqual(result.rows, [[42]]);
  assert.deepEqual(result.sql, ['SELECT 42 AS n']);
  assert.ok(result.footnotes.some((f) => result.answer.slice(f.start, f.end) === '42'), JSON.stringify(result));
  await page.closed();
  assert.deepEqual(page.statuses, [200, 204], 'it came again after done, and was told to stop');
  assert.deepEqual(others(page.frames).map((f) => f.type), ['session', 'tool_call', 'answer', 'done']);
});

test('from every position, the rest arrives without gaps or repeats', async () => {
  const params = { question: `fake: think One thought, and then another one.\nfake: say Let me see.\n${query}\n${call('get_column_stats', { column: 'n', table: 't' })}`, request_id: randomUUID() };
  const page = ask(params);
  const [one, two] = [await page.find('tool_call'), await page.find('tool_call', 2)];
  assert.deepEqual([one.step, two.step], [0, 1]);
  for (const [id, value] of [[two.id, { min: 1 }], [one.id, table]]) assert.equal((await page.result(id, value)).status, 200);
  await page.closed();
  assert.equal(new Set(page.ids).size, page.ids.length, `ids repeat: ${page.ids}`);
  for (const [n, id] of page.ids.entries()) {
    const rest = ask(params, { from: id });
    await rest.closed();
    assert.deepEqual(others(rest.frames), others(page.frames.slice(n + 1)), `after ${id}`);
    assert.equal(words(rest.frames), words(page.frames.slice(n + 1)), `after ${id}`);
  }
  const again = ask(params);
  await again.closed();
  assert.deepEqual(others(again.frames), others(page.frames));
  assert.equal(words(again.frames), words(page.frames));
  assert.equal(await runs(page.frames[0].sessionId), 1);
});

test('a connection that is cut after every few bytes', async () => {
  const params = { question: `fake: think ${'All the words of a long thought, one after the other. '.repeat(6)}\n${query}`, request_id: randomUUID() };
  const page = ask(params, { cut: (n) => (n < 5 ? 150 * n : Infinity) });
  const toolCall = await page.find('tool_call');
  await page.result(toolCall.id, table);
  await page.closed();
  const whole = ask(params);
  await whole.closed();
  assert.ok(page.statuses.length > 5);
  assert.deepEqual(others(page.frames), others(whole.frames));
  assert.equal(words(page.frames), words(whole.frames));
  assert.equal(await runs(page.frames[0].sessionId), 1);
});

test('two readers see the same, and a reader that leaves does not end the run', async () => {
  const params = { question: query, request_id: randomUUID() };
  const one = ask(params);
  const toolCall = await one.find('tool_call');
  const two = ask(params);
  assert.deepEqual(await two.find('tool_call'), toolCall);
  one.es.close();
  await two.result(toolCall.id, table);
  await two.closed();
  assert.deepEqual(others(two.frames).map((f) => f.type), ['session', 'tool_call', 'answer', 'done']);
});

test('stopped from another device', async () => {
  const page = ask({ question: query, request_id: randomUUID() });
  const toolCall = await page.find('tool_call');
  const { sessionId } = await page.find('session');
  assert.equal((await send(`/api/conversations/${sessionId}/stop`, {})).status, 204);
  assert.equal((await page.find('done')).stopped, 'user');
  await page.closed();
  const late = await page.result(toolCall.id, table);
  assert.equal(late.status, 409);
  assert.equal((await late.json()).error.code, 'call_closed');
});

test('another question while the page runs a tool', async () => {
  const first = ask({ question: query, request_id: randomUUID() });
  const toolCall = await first.find('tool_call');
  const { sessionId } = await first.find('session');
  const second = ask({ question: 'fake: say Never mind.', sessionId, request_id: randomUUID() });
  assert.match((await second.find('answer')).result.answer, /not answered by the user/);
  await Promise.all([first.closed(), second.closed()]);
  assert.equal((await (await first.result(toolCall.id, table)).json()).error.code, 'call_closed');
});

test('results for calls that are not open', async () => {
  const page = ask({ question: query, request_id: randomUUID() });
  const toolCall = await page.find('tool_call');
  const { sessionId } = await page.find('session');
  const code = async (res, status) => {
    assert.equal(res.status, status, await res.clone().text());
    return (await res.json()).error.code;
  };
  assert.equal(await code(await page.result('toolu_invented', table), 409), 'call_unknown');
  assert.equal(await code(await page.result(toolCall.id, table, { authorization: `Bearer ${otherKey}` }), 404), 'not_found');
  assert.equal(await code(await send('/api/analyze/tool-result', `{"sessionId":"${sessionId}","toolCallId":"${toolCall.id}","result":${'['.repeat(20_000)}${']'.repeat(20_000)}}`), 400), 'invalid_request');
  assert.equal(await code(await send('/api/analyze/tool-result', { sessionId, toolCallId: toolCall.id, result: 'x'.repeat(2_000_000) }), 413), 'too_large');
  assert.equal(await code(await fetch(`${base}/api/analyze/tool-result`, { method: 'POST', headers: { ...auth, 'content-type': 'text/plain' }, body: '{}' }), 400), 'invalid_request');
  assert.deepEqual(await (await page.result(toolCall.id, [{ n: 42 }])).json(), { ok: true, duplicate: false });
  await page.closed();
});

test('an error is a frame, and the stream ends', async () => {
  const page = ask({ question: 'fake: fail 401', request_id: randomUUID() });
  const failed = await page.find('error');
  assert.doesNotMatch(failed.message, /127\.0\.0\.1|fake/);
  await page.find('done');
  await page.closed();
});
