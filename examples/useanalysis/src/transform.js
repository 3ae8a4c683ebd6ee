const limit = 10_000; // ms

export function transform(code, source, steps) {
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL('./sandbox.js', import.meta.url), { type: 'module' });
    const end = (f, v) => (clearTimeout(timer), worker.terminate(), f(v));
    const timer = setTimeout(() => end(reject, new Error('The code took longer than 10 seconds.')), limit);
    worker.onmessage = ({ data }) => (data.error ? end(reject, new Error(`The code failed with ${data.error}.`)) : end(resolve, data));
    worker.onerror = () => end(reject, new Error('The code could not be run.'));
    worker.postMessage({ code, source, steps: Array.from(steps, (s) => s && { columns: s.columns, rows: s.rows }) });
  });
}
