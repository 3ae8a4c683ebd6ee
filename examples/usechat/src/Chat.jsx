import { useChat } from '@ai-sdk/react';
import { DefaultChatTransport, isToolUIPart, lastAssistantMessageIsCompleteWithApprovalResponses, lastAssistantMessageIsCompleteWithToolCalls } from 'ai';
import { useEffect, useMemo, useState } from 'react';
import { Text, notesOf } from './Footnotes.jsx';
import { Tool } from './Tool.jsx';

export function Chat({ id, assistant, stored, load }) {
  // dialect=7: this page knows the SDK's own approvals.
  const transport = useMemo(() => new DefaultChatTransport({ api: '/api/ai?dialect=7', body: { assistant } }), [assistant]);
  const { messages, setMessages, sendMessage, addToolOutput, addToolApprovalResponse, regenerate, resumeStream, status, error } = useChat({
    id, transport, messages: stored,
    // A run that waits for this page resumes by itself once everything is answered.
    sendAutomaticallyWhen: (chat) => lastAssistantMessageIsCompleteWithToolCalls(chat) || lastAssistantMessageIsCompleteWithApprovalResponses(chat),
  });

  // After a reload, the running answer is streamed from its beginning. If there is none and
  // the last message is the user's, the answer ended between the two requests.
  useEffect(() => {
    if (stored.at(-1)?.role !== 'user') return;
    void resumeStream().then(async () => {
      const now = await load();
      setMessages((shown) => (shown.at(-1)?.role === 'user' ? now : shown));
    });
  }, []);

  const busy = status === 'submitted' || status === 'streaming';
  const stop = () => fetch(`/api/ai/${encodeURIComponent(id)}/stop`, { method: 'POST' });

  return (
    <main>
      <h1>Footnote with useChat</h1>
      {messages.map((m) => <Message key={m.id} message={m} answer={addToolOutput} decide={addToolApprovalResponse} />)}
      {error && <p role="alert">{error.message} <button type="button" onClick={() => void regenerate()}>Try again</button></p>}
      <Composer busy={busy} send={(text) => void sendMessage({ text })} stop={() => void stop()} />
    </main>
  );
}

function Message({ message, answer, decide }) {
  const notes = notesOf(message.parts);
  const { usage, cost } = message.metadata ?? {};
  return (
    <article className={message.role} aria-label={message.role}>
      {message.parts.map((part, i) => {
        if (part.type === 'text') return <Text key={i} text={part.text} notes={notes.get(i)} parts={message.parts} />;
        if (part.type === 'reasoning') return <details key={i}><summary>Thinking</summary>{part.text}</details>;
        if (part.type === 'data-error') return <p key={i} role="alert">{part.data.message}</p>;
        return isToolUIPart(part) ? <Tool key={part.toolCallId} part={part} answer={answer} decide={decide} /> : null;
      })}
      {usage && <footer>{usage.totalTokens} tokens · {cost.usd.toFixed(4)} USD</footer>}
    </article>
  );
}

function Composer({ busy, send, stop }) {
  const [text, setText] = useState('');
  const submit = (e) => {
    e.preventDefault();
    if (text.trim() === '') return;
    send(text);
    setText('');
  };
  return (
    <form onSubmit={submit}>
      <input aria-label="Question" placeholder="How many orders are there?" value={text} onChange={(e) => setText(e.target.value)} />
      {busy ? <button type="button" onClick={stop}>Stop</button> : <button type="submit">Ask</button>}
    </form>
  );
}
