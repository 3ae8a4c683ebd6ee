import { getToolName } from 'ai';

const words = {
  'input-streaming': 'is being called', 'input-available': 'running', 'approval-requested': 'waiting for you',
  'approval-responded': 'resuming',
  'output-available': 'done', 'output-error': 'failed', 'output-denied': 'not approved',
};

// Tool shows one call: its input, its result and, if it needs approval, the buttons.
export function Tool({ part, answer, decide }) {
  const name = getToolName(part);
  const waits = part.state === 'input-available' && !part.providerExecuted;
  return (
    <section className={`tool ${part.state}`} aria-label={`Tool ${name}`}>
      <details open={waits || part.state === 'approval-requested'}>
        <summary>{name} <small>{waits ? 'waits for you' : words[part.state]}</small></summary>
        <pre>{part.input?.sql ?? JSON.stringify(part.input, null, 2)}</pre>
        {part.state === 'output-available' && <pre>{typeof part.output === 'string' ? part.output : JSON.stringify(part.output, null, 2)}</pre>}
        {part.errorText && <p role="alert">{part.errorText}</p>}
      </details>
      {part.state === 'approval-requested' && (
        <p>
          <button type="button" onClick={() => void decide({ id: part.approval.id, approved: true })}>Approve</button>
          <button type="button" onClick={() => void decide({ id: part.approval.id, approved: false, reason: 'The user said no.' })}>Deny</button>
        </p>
      )}
      {waits && <Waiting name={name} part={part} answer={(output) => void answer({ tool: name, toolCallId: part.toolCallId, output })} />}
    </section>
  );
}

// Waiting is a call that this page has to answer: the assistant's question, or the
// approval of a tool that runs in the page. Pages with tools of their own run them here.
function Waiting({ name, part, answer }) {
  if (name === 'ask_approval') {
    return (
      <p>
        <button type="button" onClick={() => answer({ approved: true })}>Approve {part.input.toolName}</button>
        <button type="button" onClick={() => answer({ approved: false })}>Deny</button>
      </p>
    );
  }
  if (name === 'ask_user') {
    const submit = (e) => {
      e.preventDefault();
      answer(new FormData(e.target).get('reply'));
    };
    return (
      <form onSubmit={submit}>
        <label>{part.input.question} <input name="reply" list={part.toolCallId} /></label>
        <datalist id={part.toolCallId}>{(part.input.options ?? []).map((o) => <option key={o} value={o} />)}</datalist>
        <button type="submit">Answer</button>
      </form>
    );
  }
  return <p><button type="button" onClick={() => answer('This page cannot do that.')}>Say that this page cannot do that</button></p>;
}
