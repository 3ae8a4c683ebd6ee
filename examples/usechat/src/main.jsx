import { createRoot } from 'react-dom/client';
import { Chat } from './Chat.jsx';
import './style.css';

// The chat's id is in the address, so that a reload returns to it: ?chat=…
const here = new URL(location.href);
if (!here.searchParams.has('chat')) {
  here.searchParams.set('chat', crypto.randomUUID());
  history.replaceState(null, '', here);
}
const id = here.searchParams.get('chat');
const assistant = here.searchParams.get('assistant') ?? 'analyst';

// The stored messages; none in a new chat.
async function load() {
  const res = await fetch(`/api/ai/${encodeURIComponent(id)}?dialect=7`);
  if (!res.ok) throw new Error(await res.text());
  return res.json();
}

createRoot(document.getElementById('root')).render(<Chat id={id} assistant={assistant} stored={await load()} load={load} />);
