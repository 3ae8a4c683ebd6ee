// Asks a Footnote server about data that exists only in this page. The server talks to
// the model; this hook reads its stream, runs the tools it calls and posts their results.
import { useCallback, useEffect, useRef, useState } from 'react';

const start = { state: 'idle', thinking: '', steps: [], result: null, error: null };

/**
 * @param {object} options
 * @param {string} [options.url] the endpoint's URL
 * @param {() => object} options.schema `{tables: [{name, rows, columns: [{name, type}]}]}`
 * @param {Record<string, (input, context) => Promise<Whole>>} options.tools by name. The
 *   context has `step`, and `steps`: the whole results so far. Whole is
 *   `{columns: [{name, kind}], rows, rowCount, sql?}`.
 * @param {(whole: Whole) => object} options.share returns the part of a whole result that is sent
 */
export function useAnalysis({ url = '/api/analyze', schema, tools, share }) {
  const [analysis, set] = useState(start);
  const now = useRef({ schema, tools, share });
  useEffect(() => void (now.current = { schema, tools, share }));
  const source = useRef(null);
  const session = useRef(null);
  const close = () => {
    source.current?.close();
    source.current = null;
  };
  useEffect(() => close, []);

  const ask = useCallback(
    async (question, { tier } = {}) => {
      close();
      set({ ...start, state: 'asking' });
      const steps = []; // whole results, by step
      const byCall = new Map();
      try {
        const kept = await post(`${url}/schema`, { schema: now.current.schema() });
        // EventSource reconnects by itself with the last event ID; request_id attaches it
        // to the run that is already in progress.
        const params = new URLSearchParams({ question, schema: kept.schema, request_id: crypto.randomUUID() });
        if (tier) params.set('tier', tier);
        if (session.current) params.set('sessionId', session.current);
        let over = false;
        let wait = 500;
        const listen = () => {
          const es = new EventSource(`${url}?${params}`);
          source.current = es;
          es.onmessage = (e) => {
            wait = 500;
            params.set('after', e.lastEventId); // where the next EventSource resumes
            frame(JSON.parse(e.data));
          };
          es.onerror = () => {
            // EventSource reconnects after a lost connection. An HTTP error, such as a
            // proxy's 502 while the server is down, closes it, so open a new one.
            if (over || es.readyState !== EventSource.CLOSED || source.current !== es) return;
            if (wait > 16_000) return set((a) => ({ ...a, state: 'failed', error: 'The server does not answer.' }));
            setTimeout(() => source.current === es && listen(), wait);
            wait *= 2;
          };
        };
        const frame = (f) => {
          switch (f.type) {
            case 'session':
              session.current = f.sessionId;
              break;
            case 'thinking':
              set((a) => ({ ...a, thinking: a.thinking + f.content }));
              break;
            case 'tool_call':
              set((a) => ({ ...a, steps: [...a.steps, { id: f.id, name: f.name, input: f.input, state: 'running' }] }));
              if (f.side === 'client') void run(f);
              break;
            case 'answer':
              set((a) => ({ ...a, result: { ...f.result, ...whole(byCall.get(f.result.toolCallId)) } }));
              break;
            case 'error':
              set((a) => ({ ...a, error: f.message }));
              break;
            case 'done':
              over = true;
              close();
              set((a) => ({ ...a, state: f.stopped ? 'stopped' : a.error ? 'failed' : 'done' }));
          }
        };
        const run = async (call) => {
          const said = { sessionId: session.current, toolCallId: call.id };
          let state = 'done';
          try {
            const tool = now.current.tools[call.name];
            if (!tool) throw new Error(`This page has no tool ${call.name}.`);
            const got = await tool(call.input, { step: call.step, steps });
            if (call.step !== undefined) steps[call.step] = got;
            byCall.set(call.id, got);
            said.result = now.current.share(got, call.input);
          } catch (err) {
            state = 'failed';
            said.error = String(err.message ?? err);
          }
          set((a) => ({ ...a, steps: a.steps.map((s) => (s.id === call.id ? { ...s, state } : s)) }));
          try {
            await deliver(`${url}/tool-result`, said);
          } catch (err) {
            set((a) => ({ ...a, error: err.message }));
          }
        };
        listen();
      } catch (err) {
        set((a) => ({ ...a, state: 'failed', error: err.message }));
      }
    },
    [url],
  );

  /** Begins a new conversation with the next question. */
  const reset = useCallback(() => {
    close();
    session.current = null;
    set(start);
  }, []);

  return { ...analysis, ask, reset };
}

/** Returns all rows if this page has them, otherwise the rows that were sent to the server. */
const whole = (r) => (r ? { columns: r.columns, rows: r.rows, rowCount: r.rowCount } : {});

async function post(url, body) {
  const res = await fetch(url, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) });
  const data = await res.json().catch(() => ({}));
  if (!res.ok) throw Object.assign(new Error(data.error?.message ?? `The server answered with ${res.status}.`), { status: res.status });
  return data;
}

/** Posts a result, retrying until the server has it. Posting it twice has no effect. */
async function deliver(url, body) {
  for (let wait = 500; ; wait *= 2) {
    try {
      return await post(url, body);
    } catch (err) {
      if ((err.status && err.status < 500) || wait > 30_000) throw err;
      await new Promise((resolve) => setTimeout(resolve, wait));
    }
  }
}
