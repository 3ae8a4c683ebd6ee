// The server's own API, typed. Every call has a deadline and fails with an ApiError
// that can be shown.
import type { Cell, Column } from "../log/events";
import { learnTools } from "../log/tools";

export interface Session {
  org: string;
  user: string;
  roles: string[];
  name?: string;
  signed_in: boolean;
  needs_key: boolean;
  version: string;
  offline: boolean;
  offline_hint?: string;
  features: { duckdb: boolean; coder: boolean; uploads: boolean; charts?: boolean };
}

type RunState = "idle" | "running" | "parked";

export interface ConversationHead {
  id: string;
  title: string;
  assistant: string;
  state: RunState;
  created: string;
  updated: string;
}

/** What the log of a conversation tells beyond its head. */
interface ConversationDetails extends ConversationHead {
  usage: {
    input_tokens: number;
    output_tokens: number;
    cache_read_tokens: number;
    cache_write_tokens: number;
    cost_usd: number;
  };
  messages: number;
  where?: { symbol?: string; timeframe?: string };
}

export interface Assistant {
  name: string;
  title: string;
  description: string;
  model: string;
  tiers?: { name: string; model: string; multiplier: number }[];
  tools?: { name: string; label?: string; family?: string; side: string; read_only: boolean; verdict: string }[];
  available: boolean;
  reason?: string;
}

export interface Source {
  name: string;
  engine: string;
  tables: number;
  rows?: number;
  ok: boolean;
  error?: string;
  uploaded?: boolean;
}

export interface SchemaColumn {
  name: string;
  type: string;
  kind?: string;
  comment?: string;
  nullable?: boolean;
  key?: boolean;
  references?: { table: string; column: string };
}

export interface SchemaTable {
  name: string;
  view?: boolean;
  rows?: number;
  comment?: string;
  columns: SchemaColumn[];
}

export interface Schema {
  name: string;
  engine: string;
  tables: SchemaTable[];
}

export interface Distribution {
  column: string;
  type: string;
  rows: number;
  nulls: number;
  distinct?: number;
  min?: Cell;
  max?: Cell;
  avg?: Cell;
  /** Values, or ranges from one to below another, with how often each occurs. */
  values: { value?: Cell; from?: Cell; to?: Cell; count: number }[];
}

interface Suggestion {
  text: string;
  reading?: string;
}

export interface ResultPage {
  id: string;
  source?: string;
  sql?: string;
  columns: Column[];
  row_count: number;
  truncated?: boolean;
  offset: number;
  rows: Cell[][];
}

interface QueryAnswer {
  result: { id?: string; columns: Column[]; rows: Cell[][]; row_count: number; truncated?: boolean; ms: number };
}

export interface Budget {
  limit_tokens?: number;
  used_tokens: number;
  used_today?: number; // of limit_tokens
  left_tokens?: number;
  resets?: string;
  cost_usd: number;
  tiers?: Record<string, { multiplier: number }>;
  days: { day: string; tokens: number; weighted_tokens: number; cost_usd: number }[];
  incomplete?: boolean; // a long log is still being added up
}

/** What somebody has used on one day (UTC). */
export interface PersonDay {
  day: string;
  user: string;
  questions: number;
  runs: number;
  failed: number;
  tool_calls: number;
  cache_hits: number;
  input_tokens: number;
  cached_tokens: number;
  output_tokens: number;
  cost_usd: number;
  cost_is_upper_bound?: boolean;
}

/** A question of somebody; one whose conversation is deleted has no words. */
export interface AskedQuestion {
  run: string;
  conversation: string;
  user: string;
  time: string;
  question?: string;
  outcome: "running" | "finished" | "failed" | "stopped";
  code?: string;
  tokens: number;
  cost_usd: number;
  ms: number;
}

interface Ticket {
  conversation: string;
  run: string;
  after: number;
  duplicate?: boolean;
}

/** Where a question is asked on the chart page. */
export interface ChartContext {
  symbol: string;
  timeframe: string;
}

export interface Question {
  text: string;
  assistant?: string;
  sources?: string[];
  tier?: string;
  context?: string | ChartContext;
  client_id?: string;
}

export interface WorkspaceFile {
  path: string;
  size: number;
  changed: string;
}

/** A change of a file; the digests give its contents before and after. */
export interface WorkspaceChange {
  seq: number;
  time: string;
  path: string;
  op: "create" | "write" | "delete";
  before?: string;
  after?: string;
  size: number;
  kept?: boolean; // the contents after it can be had
  diff?: string;
  tool: string; // what changed it: a tool, "template", "outside" or "revert"
  call_id?: string;
}

export interface ToolAnswer {
  call_id: string;
  content?: string;
  is_error?: boolean;
  columns?: Column[];
  rows?: Cell[][];
  row_count?: number;
  truncated?: boolean;
  sql?: string;
  statements?: { sql: string; outcome: "executed" | "refused" | "failed" | "timed_out"; row_count?: number }[];
}

type TurnBody =
  | { text: string; context?: string | ChartContext; client_id?: string }
  | { answers: ToolAnswer[] }
  | { approvals: { call_id: string; approved: boolean; reason?: string; always?: boolean }[] }
  | { edit: { seq: number; text: string } }
  | { regenerate: true };

/** A refusal or failure, with a sentence for people. Status 0: no answer came. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly retryAfter?: number,
  ) {
    super(message);
    this.name = "ApiError";
  }
}

/** What to tell a person about anything that was thrown. */
export function sentence(err: unknown): string {
  if (err instanceof ApiError) return err.message;
  return "Something in this page failed. Reload it, and tell the operator when it comes back.";
}

const unreachable = "The server does not answer. It may be starting, or the network is down.";

/** Called when the server wants a key: the page then shows the sign-in. */
let onUnauthorized = () => {};
export function whenUnauthorized(f: () => void): void {
  onUnauthorized = f;
}

interface Call {
  method?: string;
  body?: unknown;
  signal?: AbortSignal;
  timeout?: number; // ms
}

/** Makes a call and returns the response, or throws an ApiError. */
export async function request(
  path: string,
  { method = "GET", body, signal, timeout = 60_000 }: Call = {},
): Promise<Response> {
  const limit = AbortSignal.timeout(timeout);
  const form = body instanceof FormData;
  let res: Response;
  try {
    res = await fetch(path, {
      method,
      headers: body === undefined || form ? {} : { "Content-Type": "application/json" },
      body: body === undefined ? undefined : form ? body : JSON.stringify(body),
      signal: signal ? AbortSignal.any([signal, limit]) : limit,
      credentials: "same-origin",
    });
  } catch (err) {
    if (signal?.aborted) throw err;
    if (limit.aborted) throw new ApiError(0, "timeout", "The server took too long to answer. Try again.");
    throw new ApiError(0, "unreachable", unreachable);
  }
  if (!res.ok) throw await refusal(res);
  return res;
}

/** Reads the envelope of an error. */
export async function refusal(res: Response): Promise<ApiError> {
  let code = "",
    message = "";
  try {
    const data = (await res.json()) as { error?: { code?: string; message?: string } };
    code = data.error?.code ?? "";
    message = data.error?.message ?? "";
  } catch {
    // Not from our server, or cut off: the status has to do.
  }
  if (res.status === 401) onUnauthorized();
  const wait = Number(res.headers.get("Retry-After"));
  return new ApiError(
    res.status,
    code,
    message || `The server answered with ${res.status}.`,
    wait > 0 ? wait : undefined,
  );
}

async function json<T>(path: string, call?: Call): Promise<T> {
  return (await (await request(path, call)).json()) as T;
}

const enc = encodeURIComponent;
const at = (id: string) => `/api/conversations/${enc(id)}`;

export const api = {
  session: (signal?: AbortSignal) => json<Session>("/api/session", { signal, timeout: 10_000 }),
  signIn: (key: string) => request("/api/session", { method: "POST", body: { key } }),
  signOut: () => request("/api/session", { method: "DELETE" }),

  conversations: (q = "", before = "", signal?: AbortSignal) =>
    json<{ conversations: ConversationHead[]; next?: string }>(
      `/api/conversations?limit=50${q ? `&q=${enc(q)}` : ""}${before ? `&before=${enc(before)}` : ""}`,
      { signal },
    ),
  open: (question: Question) => json<Ticket>("/api/conversations", { method: "POST", body: question }),
  conversation: (id: string) => json<ConversationDetails>(at(id)),
  rename: (id: string, title: string) => json<ConversationHead>(at(id), { method: "PATCH", body: { title } }),
  remove: (id: string) => request(at(id), { method: "DELETE" }),
  turn: (id: string, body: TurnBody) => json<Ticket>(`${at(id)}/turns`, { method: "POST", body }),
  stop: (id: string) => request(`${at(id)}/stop`, { method: "POST" }),
  exportUrl: (id: string) => `${at(id)}/export?format=html`,
  eventsUrl: (id: string) => `${at(id)}/events?format=jsonl`,

  workspace: (id: string) => json<{ files: WorkspaceFile[]; changes: WorkspaceChange[] }>(`${at(id)}/workspace`),
  /** A file of the workspace as it is now, or as a change left it. */
  workspaceFileUrl: (id: string, path: string, digest = "") =>
    `${at(id)}/workspace/file?path=${enc(path)}${digest ? `&digest=${enc(digest)}` : ""}`,
  workspaceText: async (id: string, path: string, digest = "") =>
    (await request(api.workspaceFileUrl(id, path, digest))).text(),
  /** The same with whether it is a text at all. */
  workspaceContent: async (id: string, path: string) => {
    const res = await request(api.workspaceFileUrl(id, path));
    const binary = !res.headers.get("Content-Type")?.startsWith("text/");
    return { binary, text: binary ? "" : await res.text() };
  },
  /** Gives a file a content of its history again; without a digest it is removed. */
  revertFile: (id: string, path: string, digest?: string) =>
    request(`${at(id)}/workspace/revert`, { method: "POST", body: { path, ...(digest ? { digest } : {}) } }),

  assistants: async () => {
    const list = await json<{ assistants: Assistant[] }>("/api/assistants");
    learnTools(list.assistants);
    return list;
  },
  sources: (signal?: AbortSignal) => json<{ sources: Source[] }>("/api/sources", { signal }),
  schema: (source: string, signal?: AbortSignal) => json<Schema>(`/api/sources/${enc(source)}/schema`, { signal }),
  samples: (source: string, table: string, limit = 20, signal?: AbortSignal) =>
    json<{ columns: Column[]; rows: Cell[][] }>(
      `/api/sources/${enc(source)}/samples?table=${enc(table)}&limit=${limit}`,
      { signal },
    ),
  distribution: (source: string, table: string, column: string, signal?: AbortSignal) =>
    json<Distribution>(`/api/sources/${enc(source)}/distribution?table=${enc(table)}&column=${enc(column)}&limit=10`, {
      signal,
    }),
  upload: (file: File) => {
    const form = new FormData();
    form.set("file", file, file.name);
    return json<Source>("/api/sources", { method: "POST", body: form, timeout: 600_000 });
  },
  query: (source: string, body: { sql: string; conversation?: string; replaces?: string }, signal?: AbortSignal) =>
    json<QueryAnswer>(`/api/sources/${enc(source)}/query`, { method: "POST", body, signal }),
  ranHere: (
    conversation: string,
    body: { sql: string; replaces: string; columns: Column[]; row_count: number; ms: number },
    signal?: AbortSignal,
  ) =>
    json<{ id: string; seq: number }>(`/api/conversations/${enc(conversation)}/queries`, {
      method: "POST",
      body,
      signal,
    }),
  suggestions: (source = "", signal?: AbortSignal) =>
    json<{ suggestions: Suggestion[] }>(`/api/suggestions${source ? `?source=${enc(source)}` : ""}`, { signal }),

  result: (conversation: string, id: string, offset = 0, limit = 1000, signal?: AbortSignal) =>
    json<ResultPage>(`/api/results/${enc(`${conversation}.${id}`)}?offset=${offset}&limit=${limit}`, { signal }),
  resultUrl: (conversation: string, id: string, format: "csv" | "xlsx" | "json" | "arrow") =>
    `/api/results/${enc(`${conversation}.${id}`)}?format=${format}`,

  feedback: (conversation: string, seq: number, good: boolean, words?: string) =>
    request("/api/feedback", { method: "POST", body: { conversation, seq, good, ...(words ? { words } : {}) } }),
  usage: () => json<Budget>("/api/usage"),
  people: (from: string, to: string) =>
    json<{ from: string; to: string; rows: PersonDay[]; incomplete?: boolean }>(
      `/api/usage/people?from=${from}&to=${to}`,
    ),
  peopleUrl: (from: string, to: string, user = "") =>
    `/api/usage/people?format=csv&from=${from}&to=${to}${user ? `&user=${enc(user)}` : ""}`,
  questions: (from: string, to: string, user = "", before = "") =>
    json<{ questions: AskedQuestion[]; next?: string }>(
      `/api/usage/questions?from=${from}&to=${to}${user ? `&user=${enc(user)}` : ""}${before ? `&before=${enc(before)}` : ""}`,
    ),
  generateSQL: (question: string, source: string) =>
    json<{ sql: string; dialect: string }>("/api/generate-sql", { method: "POST", body: { question, source } }),
};
