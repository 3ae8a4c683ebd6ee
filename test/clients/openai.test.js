// The unmodified openai package against a server that follows scenarios.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import OpenAI from 'openai';

const base = process.env.FOOTNOTE_TEST_URL;
const key = process.env.FOOTNOTE_TEST_KEY ?? 'test-key-1';
const bodyLimit = Number(process.env.FOOTNOTE_TEST_BODY_LIMIT ?? 65536);
assert.ok(base, 'FOOTNOTE_TEST_URL must name the server');

const client = new OpenAI({ baseURL: `${base}/v1`, apiKey: key, maxRetries: 0, timeout: 20_000 });
const answer = 'Let me count.\n\nThere are 42 orders, <b>"naïve"</b> 😀.';
const ask = (text, more = {}) => ({ model: 'analyst', messages: [{ role: 'user', content: text }], ...more });

// rejection returns the error of a rejected promise.
async function rejection(promise) {
  const value = await promise.then((v) => ({ v }), (err) => ({ err }));
  assert.ok(value.err, `it should have failed, but gave ${JSON.stringify(value.v)}`);
  return value.err;
}

test('an answer in one piece', async () => {
  const c = await client.chat.completions.create(ask('How many orders?'));
  assert.equal(c.object, 'chat.completion');
  assert.equal(c.model, 'analyst');
  assert.match(c.id, /^chatcmpl-/);
  assert.equal(c.choices.length, 1);
  assert.deepEqual(c.choices[0].message, { role: 'assistant', content: answer, refusal: null });
  assert.equal(c.choices[0].finish_reason, 'stop');
  assert.deepEqual(c.usage, {
    prompt_tokens: 112, completion_tokens: 9, total_tokens: 121,
    prompt_tokens_details: { cached_tokens: 100 }, completion_tokens_details: { reasoning_tokens: 2 },
  });
});

test('a stream', async () => {
  const stream = await client.chat.completions.create(ask('How many orders?', { stream: true, stream_options: { include_usage: true } }));
  let text = '', role, finish = [], usage, ids = new Set(), last;
  for await (const chunk of stream) {
    ids.add(`${chunk.id} ${chunk.created} ${chunk.object}`);
    last = chunk;
    if (chunk.usage) usage = chunk.usage;
    for (const choice of chunk.choices) {
      role ??= choice.delta.role;
      text += choice.delta.content ?? '';
      assert.equal(choice.delta.tool_calls, undefined, 'tools of the server are not for the client');
      if (choice.finish_reason) finish.push(choice.finish_reason);
    }
  }
  assert.equal(text, answer);
  assert.equal(role, 'assistant');
  assert.deepEqual(finish, ['stop']);
  assert.equal(ids.size, 1, 'all chunks share id and time');
  assert.deepEqual(last.choices, []);
  assert.equal(usage.total_tokens, 121);
});

test('the stream helper', async () => {
  const stream = client.chat.completions.stream(ask('How many orders?', { stream_options: { include_usage: true } }));
  let text = '';
  stream.on('content', (delta) => { text += delta; });
  const final = await stream.finalChatCompletion();
  assert.equal(text, answer);
  assert.equal(final.choices[0].message.content, answer);
  assert.equal(final.choices[0].finish_reason, 'stop');
  assert.equal(final.usage.prompt_tokens_details.cached_tokens, 100);
});

test('footnotes under the vendor key, if requested', async () => {
  const plain = await client.chat.completions.create(ask('How many orders?'));
  assert.equal(plain.footnotes, undefined);
  const c = await client.chat.completions.create(ask('How many orders?', { footnotes: true }));
  const [cite] = c.footnotes.cites;
  assert.equal(Buffer.from(c.choices[0].message.content).subarray(cite.start, cite.end).toString(), '42');
  assert.equal(cite.text, '42');
  let last;
  const stream = await client.chat.completions.create(ask('How many orders?', { stream: true }), { headers: { 'X-Footnotes': 'true' } });
  for await (const chunk of stream) last = chunk;
  assert.deepEqual(last.footnotes.cites, c.footnotes.cites);
});

test('stop strings', async () => {
  const c = await client.chat.completions.create(ask('How many orders?', { stop: ['42'] }));
  assert.equal(c.choices[0].message.content, 'Let me count.\n\nThere are ');
  const s = await client.chat.completions.stream(ask('How many orders?', { stop: '42' })).finalContent();
  assert.equal(s, 'Let me count.\n\nThere are ');
});

test('finish reasons', async () => {
  for (const [scenario, reason] of [['refusal', 'content_filter'], ['length', 'length']]) {
    const c = await client.chat.completions.create(ask(`scenario: ${scenario}`));
    assert.equal(c.choices[0].finish_reason, reason);
    const stream = await client.chat.completions.create(ask(`scenario: ${scenario}`, { stream: true }));
    let finish;
    for await (const chunk of stream) finish = chunk.choices[0]?.finish_reason ?? finish;
    assert.equal(finish, reason);
  }
});

test('models', async () => {
  const ids = [];
  for await (const m of client.models.list()) {
    ids.push(m.id);
    assert.equal(m.object, 'model');
    assert.equal(m.owned_by, 'footnote');
    assert.ok(m.created > 0);
  }
  assert.deepEqual(ids.slice(0, 2), ['analyst', 'claude-da/analyst']);
  assert.equal((await client.models.retrieve('claude-da/analyst')).id, 'claude-da/analyst');
  const missing = await rejection(client.models.retrieve('gpt-4'));
  assert.ok(missing instanceof OpenAI.NotFoundError);
  assert.equal(missing.code, 'model_not_found');
  const alias = await client.chat.completions.create(ask('How many orders?', { model: 'claude-da/analyst' }));
  assert.equal(alias.model, 'claude-da/analyst');
});

test('errors keep their status, code and message', async (t) => {
  const cases = [
    ['too long', ask('x'.repeat(10_001)), 400, OpenAI.BadRequestError, 'input_too_long', 'messages', null],
    ['no such model', ask('hi', { model: 'gpt-4' }), 404, OpenAI.NotFoundError, 'model_not_found', 'model', null],
    ['tools', ask('hi', { tools: [{ type: 'function', function: { name: 'f', parameters: {} } }] }), 400, OpenAI.BadRequestError, 'unsupported_parameter', 'tools', null],
    ['tool_choice', ask('hi', { tool_choice: 'required' }), 400, OpenAI.BadRequestError, 'unsupported_parameter', 'tool_choice', null],
    ['two choices', ask('hi', { n: 2 }), 400, OpenAI.BadRequestError, 'unsupported_parameter', 'n', null],
    ['body too large', ask('hi', { metadata: { pad: 'x'.repeat(bodyLimit) } }), 413, OpenAI.APIError, 'too_large', null, null],
    ['rate limit', ask('scenario: 429'), 429, OpenAI.RateLimitError, 'rate_limited', null, null],
    ['rate limit within the run', ask('scenario: run-429'), 429, OpenAI.RateLimitError, 'rate_limited', null, 'false'],
    ['budget', ask('scenario: budget'), 429, OpenAI.RateLimitError, 'budget_exceeded', null, null],
    ['busy', ask('scenario: conflict'), 409, OpenAI.ConflictError, 'conflict', null, null],
    ['unclassified', ask('scenario: 500'), 500, OpenAI.InternalServerError, 'internal_error', null, null],
    ['panic', ask('scenario: panic'), 500, OpenAI.InternalServerError, 'internal_error', null, 'false'],
    ['no model', ask('scenario: 503'), 503, OpenAI.InternalServerError, 'model_unavailable', null, null],
    ['no database', ask('scenario: database'), 503, OpenAI.InternalServerError, 'database_unavailable', null, 'false'],
    ['disk full', ask('scenario: storage'), 503, OpenAI.InternalServerError, 'storage_unavailable', null, 'false'],
    ['timeout', ask('scenario: 504'), 504, OpenAI.InternalServerError, 'agent_timeout', null, 'false'],
    ['parked', ask('scenario: parked'), 400, OpenAI.BadRequestError, 'unsupported_parameter', null, 'false'],
  ];
  for (const [name, body, status, type, code, param, retry] of cases) {
    for (const stream of [false, true]) {
      await t.test(`${name}, ${stream ? 'streamed' : 'in one piece'}`, async () => {
        const err = await rejection(client.chat.completions.create({ ...body, stream }));
        assert.equal(err.status, status, err.message);
        assert.ok(err instanceof type);
        assert.equal(err.code, code);
        assert.equal(err.param ?? null, param);
        assert.doesNotMatch(err.message, /secret/, 'internals must not leave the server');
        assert.equal(err.headers.get('x-should-retry'), retry);
        assert.match(err.requestID, /^req_/);
      });
    }
  }
});

test('retry-after is passed on and obeyed', async () => {
  const err = await rejection(client.chat.completions.create(ask('scenario: 429')));
  assert.equal(err.headers.get('retry-after'), '2');
  assert.equal(err.headers.get('retry-after-ms'), '1500');
  const patient = client.withOptions({ maxRetries: 2 });
  const c = await patient.chat.completions.create(ask(`scenario: 429-once ${process.pid}`));
  assert.equal(c.choices[0].message.content, answer);
});

test('a wrong key', async () => {
  const other = new OpenAI({ baseURL: `${base}/v1`, apiKey: 'wrong-key-1', maxRetries: 0 });
  const err = await rejection(other.models.list());
  assert.ok(err instanceof OpenAI.AuthenticationError);
  assert.equal(err.code, 'invalid_api_key');
  const none = await fetch(`${base}/v1/models`);
  assert.equal(none.status, 401);
  assert.match(none.headers.get('www-authenticate'), /^Bearer/);
});

test('other routes', async () => {
  const err = await rejection(client.embeddings.create({ model: 'x', input: 'y' }));
  assert.equal(err.status, 404);
  assert.equal(err.code, 'unknown_url');
  const res = await fetch(`${base}/v1/chat/completions`, { headers: { authorization: `Bearer ${key}` } });
  assert.equal(res.status, 405);
  assert.equal(res.headers.get('allow'), 'POST');
  assert.equal((await res.json()).error.type, 'invalid_request_error');
});

test('a failure after the first word is an error, not an end', async () => {
  const stream = await client.chat.completions.create(ask('scenario: midstream', { stream: true }));
  let text = '', finish;
  const err = await rejection((async () => {
    for await (const chunk of stream) {
      text += chunk.choices[0]?.delta.content ?? '';
      finish = chunk.choices[0]?.finish_reason ?? finish;
    }
  })());
  assert.equal(text, 'Let me look. ');
  assert.equal(finish, undefined);
  assert.ok(err instanceof OpenAI.APIError);
  assert.equal(err.code, 'model_unavailable');
  assert.match(err.message, /The model is not reachable/);
  await rejection(client.chat.completions.stream(ask('scenario: midstream')).finalChatCompletion());
  const unstreamed = await rejection(client.chat.completions.create(ask('scenario: midstream')));
  assert.equal(unstreamed.status, 503);
});

test('leaving ends the run', async () => {
  const { data: stream, response } = await client.chat.completions.create(ask('scenario: slow', { stream: true })).withResponse();
  const conversation = response.headers.get('x-conversation-id');
  assert.ok(conversation);
  let pieces = 0;
  for await (const chunk of stream) {
    if (chunk.choices[0]?.delta.content && ++pieces === 3) break; // closes the connection
  }
  const events = await fetch(`${base}/api/conversations/${conversation}/events`, {
    headers: { authorization: `Bearer ${key}`, accept: 'text/event-stream' },
  });
  const log = await events.text(); // ends with the run
  assert.match(log, /event: run_stopped\ndata: .*"by":"disconnect"/);
});

test('aborting an answer in one piece ends the run', { timeout: 60_000 }, async () => {
  const { response } = await client.chat.completions.create(ask('How many orders?')).withResponse();
  const conversation = response.headers.get('x-conversation-id');
  const log = async () => (await fetch(`${base}/api/conversations/${conversation}/events`, { headers: { authorization: `Bearer ${key}` } })).text();
  const until = async (done) => {
    for (let tries = 0; tries < 500 && !done(await log()); tries++) await new Promise((resolve) => setTimeout(resolve, 20));
  };
  const abort = new AbortController();
  const pending = rejection(client.chat.completions.create(ask('scenario: silent'), { signal: abort.signal, headers: { 'X-Conversation-Id': conversation } }));
  await until((text) => text.split('"kind":"run_started"').length === 3);
  abort.abort();
  assert.ok((await pending) instanceof OpenAI.APIUserAbortError);
  await until((text) => text.includes('run_stopped'));
  assert.match(await log(), /"kind":"run_stopped".*"by":"disconnect"/);
});

test('a conversation continues under its id', async () => {
  const thread = `thread-${process.pid}`;
  const say = (text, id) => client.chat.completions.create(ask(text), { headers: { 'X-Conversation-Id': id } }).withResponse();
  const first = (await say('How many orders?', thread)).response.headers.get('x-conversation-id');
  const again = (await say('And in June?', thread)).response.headers.get('x-conversation-id');
  const byOurs = (await say('And in July?', first)).response.headers.get('x-conversation-id');
  assert.equal(again, first);
  assert.equal(byOurs, first);
});

test('title jobs are answered without a run', async () => {
  const prompt = '### Task:\nGenerate a concise, 3-5 word title with an emoji summarizing the chat history.\n### Chat History:\n<chat_history>\nUSER: hi\n</chat_history>';
  const { data, response } = await client.chat.completions.create(ask(prompt)).withResponse();
  assert.equal(response.headers.get('x-conversation-id'), null);
  assert.equal(JSON.parse(data.choices[0].message.content).title, 'Orders in May');
});

// LibreChat forces a function call and takes the title from its input.
const titleTool = {
  model: 'analyst',
  messages: [{ role: 'user', content: 'Analyze this conversation and provide:\n1. The detected language of the conversation\n2. A concise title in the detected language (5 words or less, no punctuation or quotation)\n\nUser: hi\nAI: Hello.' }],
  tools: [{ type: 'function', function: { name: 'extract', parameters: { type: 'object', properties: { language: { type: 'string' }, title: { type: 'string' } }, required: ['language', 'title'] } } }],
  tool_choice: { type: 'function', function: { name: 'extract' } },
};

test('a title by a forced call', async () => {
  const { data, response } = await client.chat.completions.create(titleTool).withResponse();
  assert.equal(response.headers.get('x-conversation-id'), null);
  const [call] = data.choices[0].message.tool_calls;
  assert.equal(call.function.name, 'extract');
  assert.deepEqual(JSON.parse(call.function.arguments), { language: 'English', title: 'Orders in May' });
  assert.equal(data.choices[0].finish_reason, 'tool_calls');
});

test('a title by a forced call, streamed', async () => {
  const final = await client.chat.completions.stream({ ...titleTool, stream_options: { include_usage: true } }).finalChatCompletion();
  assert.deepEqual(JSON.parse(final.choices[0].message.tool_calls[0].function.arguments), { language: 'English', title: 'Orders in May' });
  assert.equal(final.usage.total_tokens, 36);
});
