// The unmodified openai package against the program with an imitated model. Lines "fake: …"
// of a question script the model, and "fault: NAME" makes it fail. test/e2e starts both and
// runs this.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import OpenAI from 'openai';

const base = process.env.FOOTNOTE_TEST_URL;
const key = process.env.FOOTNOTE_TEST_KEY;
assert.ok(base && key, 'FOOTNOTE_TEST_URL and FOOTNOTE_TEST_KEY must name the server and a key');

const client = new OpenAI({ baseURL: `${base}/v1`, apiKey: key, maxRetries: 0, timeout: 30_000 });
const answer = 'Looking at the data.\n\nThe result holds 1, 846, 1.';
const ask = (text, more = {}) => ({ model: 'analyst', messages: [{ role: 'user', content: text }], ...more });
const inside = (id) => ({ headers: { 'X-Conversation-Id': id } });

// rejection returns the error of a rejected promise.
async function rejection(promise) {
  const value = await promise.then((v) => ({ v }), (err) => ({ err }));
  assert.ok(value.err, `it should have failed, but gave ${JSON.stringify(value.v)}`);
  return value.err;
}

async function log(conversation) {
  const res = await fetch(`${base}/api/conversations/${conversation}/events`, { headers: { authorization: `Bearer ${key}` } });
  return (await res.text()).trim().split('\n').map((line) => JSON.parse(line));
}

async function until(done) {
  for (let tries = 0; tries < 500 && !(await done()); tries++) await new Promise((resolve) => setTimeout(resolve, 10));
}

test('an answer in one piece', async () => {
  const c = await client.chat.completions.create(ask('How many orders?'));
  assert.equal(c.choices[0].message.content, answer);
  assert.equal(c.choices[0].finish_reason, 'stop');
  assert.equal(c.usage.total_tokens, c.usage.prompt_tokens + c.usage.completion_tokens);
  assert.ok(c.usage.prompt_tokens > 0);
});

test('a stream', async () => {
  const stream = await client.chat.completions.create(ask('How many orders?', { stream: true, stream_options: { include_usage: true } }));
  let text = '', pieces = 0, finish = [], usage;
  for await (const chunk of stream) {
    usage = chunk.usage ?? usage;
    for (const { delta, finish_reason } of chunk.choices) {
      if (delta.content) pieces++;
      text += delta.content ?? '';
      if (finish_reason) finish.push(finish_reason);
    }
  }
  assert.equal(text, answer);
  assert.ok(pieces > 1);
  assert.deepEqual(finish, ['stop']);
  assert.ok(usage.total_tokens > 0);
});

test('the stream helper', async () => {
  const final = await client.chat.completions.stream(ask('How many orders?')).finalChatCompletion();
  assert.equal(final.choices[0].message.content, answer);
});

test('footnotes under the vendor key', async () => {
  const c = await client.chat.completions.create(ask('How many orders?', { footnotes: true }));
  const [cite] = c.footnotes.cites;
  assert.equal(cite.text, '846');
  assert.equal(Buffer.from(c.choices[0].message.content).subarray(cite.start, cite.end).toString(), '846');
});

test('models', async () => {
  const ids = [];
  for await (const m of client.models.list()) ids.push(m.id);
  assert.deepEqual(ids, ['analyst', 'claude-da/analyst']);
  assert.equal((await client.models.retrieve('claude-da/analyst')).id, 'claude-da/analyst');
  const c = await client.chat.completions.create(ask('fake: say Hello.', { model: 'claude-da/analyst' }));
  assert.equal(c.model, 'claude-da/analyst');
});

test('a conversation continues under its id', async () => {
  const thread = `thread-${process.pid}`;
  const say = async (text, id) => (await client.chat.completions.create(ask(text), inside(id)).withResponse()).response.headers.get('x-conversation-id');
  const first = await say('How many orders?', thread);
  assert.equal(await say('And now?', thread), first);
  assert.equal(await say('And now?', first), first);
  assert.equal((await log(first)).filter((e) => e.kind === 'run_finished').length, 3);
});

test('errors', async (t) => {
  const cases = [
    ['too long', ask('x'.repeat(10_001)), 400, OpenAI.BadRequestError, 'input_too_long', null],
    ['no such model', ask('hi', { model: 'gpt-4' }), 404, OpenAI.NotFoundError, 'model_not_found', null],
    ['tools', ask('hi', { tools: [{ type: 'function', function: { name: 'f', parameters: {} } }] }), 400, OpenAI.BadRequestError, 'unsupported_parameter', null],
    ['body too large', ask('hi', { metadata: { pad: 'x'.repeat(65_536) } }), 413, OpenAI.APIError, 'too_large', null],
    ['rate limit', ask('fault: 429'), 429, OpenAI.RateLimitError, 'rate_limited', 'false'],
    ['overloaded', ask('fault: 529'), 503, OpenAI.InternalServerError, 'model_unavailable', 'false'],
    ['upstream broken', ask('fault: 500'), 503, OpenAI.InternalServerError, 'model_unavailable', 'false'],
    ['upstream resets', ask('fault: reset always'), 503, OpenAI.InternalServerError, 'model_unavailable', 'false'],
    ['key of the model refused', ask('fault: 401'), 503, OpenAI.InternalServerError, 'model_unavailable', 'false'],
  ];
  for (const [name, body, status, type, code, retry] of cases) {
    for (const stream of [false, true]) {
      await t.test(`${name}, ${stream ? 'streamed' : 'in one piece'}`, async () => {
        const begun = Date.now();
        const err = await rejection((async () => {
          const s = await client.chat.completions.create({ ...body, stream });
          for await (const chunk of s) assert.equal(chunk.choices[0]?.delta.content ?? '', '');
        })());
        if (stream && err.status === undefined) {
          // The headers of a stream wait for the first word, but not forever.
          assert.ok(Date.now() - begun > 4500);
          assert.equal(err.code, code);
          return;
        }
        assert.equal(err.status, status, err.message);
        assert.ok(err instanceof type);
        assert.equal(err.code, code);
        assert.equal(err.headers.get('x-should-retry'), retry);
        assert.match(err.requestID, /^req_/);
        assert.doesNotMatch(err.message, /sk-model|127\.0\.0\.1/, 'internals must not leave the server');
      });
    }
  }
  const stranger = new OpenAI({ baseURL: `${base}/v1`, apiKey: 'key-of-eve-0123456789', maxRetries: 0 });
  const err = await rejection(stranger.models.list());
  assert.ok(err instanceof OpenAI.AuthenticationError);
  assert.equal(err.code, 'invalid_api_key');
});

test('retry-after is passed on', async () => {
  const err = await rejection(client.chat.completions.create(ask('fault: 429 long')));
  assert.equal(err.status, 429);
  assert.equal(err.headers.get('retry-after'), '77');
});

test('a failure after the first word is an error, not an end', async () => {
  const stream = await client.chat.completions.create(ask('fault: reset, streamed', { stream: true }));
  let text = '', finish;
  const err = await rejection((async () => {
    for await (const chunk of stream) {
      text += chunk.choices[0]?.delta.content ?? '';
      finish = chunk.choices[0]?.finish_reason ?? finish;
    }
  })());
  assert.match(text, /^one two/);
  assert.equal(finish, undefined);
  assert.ok(err instanceof OpenAI.APIError);
  assert.equal(err.code, 'model_unavailable');
});

test('leaving a stream ends the run', async () => {
  const { data: stream, response } = await client.chat.completions.create(ask('fault: endless', { stream: true })).withResponse();
  const conversation = response.headers.get('x-conversation-id');
  let pieces = 0;
  for await (const chunk of stream) {
    if (chunk.choices[0]?.delta.content && ++pieces === 3) break; // closes the connection
  }
  const stopped = async () => (await log(conversation)).some((e) => e.kind === 'run_stopped' && e.body.by === 'disconnect');
  await until(stopped);
  assert.ok(await stopped());
});

test('aborting an answer in one piece ends the run', async () => {
  const { response } = await client.chat.completions.create(ask('fake: say Hello.')).withResponse();
  const conversation = response.headers.get('x-conversation-id');
  const abort = new AbortController();
  const pending = rejection(client.chat.completions.create(ask('fault: silent'), { signal: abort.signal, ...inside(conversation) }));
  const kinds = async (kind) => (await log(conversation)).filter((e) => e.kind === kind).length;
  await until(async () => await kinds('run_started') === 2);
  abort.abort();
  assert.ok((await pending) instanceof OpenAI.APIUserAbortError);
  await until(async () => await kinds('run_stopped') === 1);
  assert.equal(await kinds('run_stopped'), 1);
});
