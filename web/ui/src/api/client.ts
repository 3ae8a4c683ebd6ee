// Typed calls of the server's own API. Every call has a timeout and fails with an ApiError whose message can be shown.
import type { Cell, Column, Place } from "../log/events";
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
  query_seconds?: number; // the longest time for a query
  notices?: string[]; // what administrators should know of the server
  /** What the server offers. Modules of the app have keys of their own. */
  features: { duckdb: boolean; coder: boolean; uploads: boolean; [module: string]: boolean | undefined };
}

type RunState = "idle" | "running" | "parked";

export interface ConversationHead {
  id: string;
  title: string;
  assistant: string;
  state: RunState;
  created: string;
  updated: string;
  excerpt?: string; // of a message that a search found
}

/** A conversation with figures that the server computes from its log. */
interface ConversationDetails extends ConversationHead {
  usage: {
    input_tokens: number;
    output_tokens: number;
    cache_read_tokens: number;
    cache_write_tokens: number;
    weighted_tokens: number;
    cost_usd: number;
  };
  messages: number;
  where?: Place;
}

export interface Assistant {
  name: string;
  title: string;
  description: string;
  examples?: string[]; // requests to begin with
  model: string;
  default_tier?: string; // answers when none is chosen
  tiers?: { name: string; model: string; multiplier: number }[];
  tools?: { name: string; label?: string; family?: string; side: string; read_only: boolean; verdict: string }[];
  available: boolean;
  reason?: string;
}

/** Returns the assistants to choose from. Without market data, the chart analyst is hidden like its page. */
export const offered = (all: readonly Assistant[]) => all.filter((a) => a.available || a.name !== "chart");

export interface Source {
  name: string;
  engine: string;
  tables: number;
  rows?: number;
  ok: boolean;
  error?: string;
  uploaded?: boolean;
  /** How well the source is known to be read-only. */
  proof?: { strength: "proven" | "gated"; tested_on: "real" | "imitation" };
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
  editor_dialect?: string; // as CodeMirror names it
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
  /** How often each value occurs, or each range from `from` up to but excluding `to`. */
  values: { value?: Cell; from?: Cell; to?: Cell; count: number }[];
}

export interface Suggestion {
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
  /** The number of rows of a view, and the places of these rows in the result. */
  matching?: number;
  row_numbers?: number[];
  offset: number;
  rows: Cell[][];
}

/** Where a row of a calculated result comes from. Rows count from 0; there are none if they are not known. */
export interface Origins {
  columns: { name: string; formula?: string; reads: { result: string; column: string }[] }[];
  rows: { result: string; rows: number[]; count: number }[];
}

interface QueryAnswer {
  result: { id?: string; columns: Column[]; rows: Cell[][]; row_count: number; truncated?: boolean; ms: number };
}

export interface Budget {
  limit_tokens?: number;
  tokens: number; // as the models counted them
  used_tokens: number; // weighted
  used_today?: number; // of limit_tokens
  left_tokens?: number;
  resets?: string;
  cost_usd: number;
  tiers?: Record<string, { multiplier: number }>;
  days: { day: string; tokens: number; weighted_tokens: number; cost_usd: number }[];
  incomplete?: boolean; // a long log is still being added up
}

/** The usage of one user on one day (UTC). */
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
  weighted_tokens: number;
  cost_usd: number;
  cost_is_upper_bound?: boolean;
}

/** A question that a user asked. The text is missing if the conversation was deleted. */
export interface AskedQuestion {
  run: string;
  conversation: string;
  user: string;
  time: string;
  question?: string;
  outcome: "running" | "finished" | "failed" | "stopped";
  code?: string;
  tokens: number;
  weighted_tokens: number;
  cost_usd: number;
  ms: number;
}

/** An answer that a person rated as bad, or that has numbers without a footnote. */
export interface InboxItem {
  conversation: string;
  seq: number;
  user: string;
  time: string;
  question?: string;
  answer: string;
  flagged: { text: string; reason?: string }[];
  results: { id: string; source?: string; sql: string; draft?: Draft }[];
  rated_bad: boolean;
  words?: string;
}

/** A verified query that an administrator writes for the answer of a conversation. */
export interface Draft {
  conversation: string;
  seq: number;
  name: string;
  question: string;
  paraphrases: string[];
  parameters: string[];
  source: string;
  sql: string;
  roles?: string[];
  expires?: string;
}

/** What a draft would become, with the rows of its statement. */
export interface CheckedDraft {
  result: QueryAnswer["result"];
  query: string;
  test: string;
  fails: string;
  warnings: string[];
}

/** A suggested verified query, which another administrator approves or declines. */
export interface Proposal {
  id: number;
  state: "open" | "approved" | "declined";
  name: string;
  source: string;
  by: string;
  time: string;
  conversation: string;
  seq: number;
  query: string;
  test: string;
  fails: string;
  warnings: string[];
  blocked?: string;
  reviewed_by?: string;
  decided?: string;
  words?: string;
  written: boolean;
  unsaved?: string;
}

/** A run of a suite of tests of answers. */
export interface TestRun {
  time: string;
  suite: string;
  mode: "planner" | "recordings" | "live";
  model: string;
  context?: string;
  ms: number;
  scheduled?: boolean;
  by?: string;
  tests: Record<string, "passed" | "failed" | "stale" | "broken">;
  reasons?: Record<string, string[]>; // of those that did not pass
}

export interface Suite {
  name: string;
  tests: string[];
  modes: ("planner" | "recordings")[];
  runs: TestRun[]; // newest first
  fault?: string;
}

interface Ticket {
  conversation: string;
  run: string;
  after: number;
  duplicate?: boolean;
}

/** What the model reads besides a question: text, or what a module's page shows, such as the symbol of a chart. */
export type Context = string | Place;

export interface Question {
  text: string;
  assistant?: string;
  sources?: string[];
  tier?: string;
  context?: Context;
  client_id?: string;
}

export interface WorkspaceFile {
  path: string;
  size: number;
  changed: string;
}

/** A change to a file, with the digests of its contents before and after. */
export interface WorkspaceChange {
  seq: number;
  time: string;
  path: string;
  op: "create" | "write" | "delete";
  before?: string;
  after?: string;
  size: number;
  kept?: boolean; // the server still has the contents after the change
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

/** A turn that asks for an answer. The tier applies from it on. */
export type Asking = (
  | { text: string; context?: Context; client_id?: string }
  | { edit: { seq: number; text: string } }
  | { regenerate: true }
) & { tier?: string };

type TurnBody =
  | Asking
  | { answers: ToolAnswer[] }
  | { approvals: { call_id: string; approval_id?: string; approved: boolean; reason?: string; always?: boolean }[] };

/** A failed call, with a message to show. The status is 0 if there was no response. */
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

/** Returns the message to show for a caught error. */
export function errorMessage(err: unknown): string {
  if (err instanceof ApiError) return err.message;
  return "Something went wrong on this page. Reload it, and tell your administrator if it happens again.";
}

/** The message of a request without a response. */
export function unreachable(): string {
  const address = globalThis.location ? ` at ${location.host}` : "";
  return `Can't reach the server${address}. Check your network, and that Footnote is running.`;
}

let onUnauthorized = () => {};
/** Sets the function to call when the server requires a key. */
export function setOnUnauthorized(f: () => void): void {
  onUnauthorized = f;
}

interface Call {
  method?: string;
  body?: unknown;
  signal?: AbortSignal;
  timeout?: number; // ms
}

/** Sends a request. Throws an ApiError unless the response has a status of success. */
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
    if (limit.aborted) throw new ApiError(0, "timeout", "The server took too long to respond. Try again.");
    throw new ApiError(0, "unreachable", unreachable());
  }
  if (!res.ok) throw await errorFrom(res);
  return res;
}

/** Reads the error in the body of a failed response. */
export async function errorFrom(res: Response): Promise<ApiError> {
  let code = "",
    message = "";
  try {
    const data = (await res.json()) as { error?: { code?: string; message?: string } };
    code = data.error?.code ?? "";
    message = data.error?.message ?? "";
  } catch {
    // A proxy's response, or a truncated body: fall back to the status.
  }
  if (res.status === 401) onUnauthorized();
  const wait = Number(res.headers.get("Retry-After"));
  return new ApiError(
    res.status,
    code,
    message || `The server responded with status ${res.status}.`,
    wait > 0 ? wait : undefined,
  );
}

async function json<T>(path: string, call?: Call): Promise<T> {
  return (await (await request(path, call)).json()) as T;
}

const enc = encodeURIComponent;
const conversationPath = (id: string) => `/api/conversations/${enc(id)}`;

/** What a program asks for that wants to act for the person. */
export interface ConsentRequest {
  client: { name?: string; host?: string };
  to: string;
  /** Where the page goes at once, because the program asks in a wrong way. */
  redirect?: string;
}

function sending(method: string, file: File) {
  const form = new FormData();
  form.set("file", file, file.name);
  return { method, body: form, timeout: 600_000 };
}

export const api = {
  session: (signal?: AbortSignal) => json<Session>("/api/session", { signal, timeout: 10_000 }),
  signIn: (key: string) => request("/api/session", { method: "POST", body: { key } }),
  signOut: () => request("/api/session", { method: "DELETE" }),
  consentRequest: (search: string) => json<ConsentRequest>(`/api/consent${search}`),
  decideConsent: (search: string, allow: boolean) =>
    json<{ redirect: string }>("/api/consent", { method: "POST", body: { query: search.slice(1), allow } }),

  conversations: (q = "", before = "", signal?: AbortSignal) =>
    json<{ conversations: ConversationHead[]; next?: string }>(
      `/api/conversations?limit=50${q ? `&q=${enc(q)}` : ""}${before ? `&before=${enc(before)}` : ""}`,
      { signal },
    ),
  /** Returns the newest conversations that were last about a chart, or those that wait. */
  conversationsAbout: async (symbol: string, state = ""): Promise<{ conversations: ConversationHead[] }> => {
    const about = `/api/conversations?limit=50&symbol=${enc(symbol)}${state ? `&state=${state}` : ""}`;
    for (let before = ""; ;) {
      const path = before ? `${about}&before=${enc(before)}` : about;
      const page = await json<{ conversations: ConversationHead[]; next?: string }>(path);
      if (page.conversations.length > 0 || !page.next) return page;
      before = page.next; // the server has looked through a part of the list
    }
  },
  open: (question: Question) => json<Ticket>("/api/conversations", { method: "POST", body: question }),
  conversation: (id: string) => json<ConversationDetails>(conversationPath(id)),
  rename: (id: string, title: string) =>
    json<ConversationHead>(conversationPath(id), { method: "PATCH", body: { title } }),
  remove: (id: string) => request(conversationPath(id), { method: "DELETE" }),
  turn: (id: string, body: TurnBody) => json<Ticket>(`${conversationPath(id)}/turns`, { method: "POST", body }),
  stop: (id: string) => request(`${conversationPath(id)}/stop`, { method: "POST" }),
  exportUrl: (id: string) => `${conversationPath(id)}/export?format=html`,
  eventsUrl: (id: string) => `${conversationPath(id)}/events?format=jsonl`,

  workspace: (id: string) =>
    json<{ files: WorkspaceFile[]; changes: WorkspaceChange[] }>(`${conversationPath(id)}/workspace`),
  /** The address of a workspace file: its current contents, or those with the digest. */
  workspaceFileUrl: (id: string, path: string, digest = "") =>
    `${conversationPath(id)}/workspace/file?path=${enc(path)}${digest ? `&digest=${enc(digest)}` : ""}`,
  workspaceText: async (id: string, path: string, digest = "") =>
    (await request(api.workspaceFileUrl(id, path, digest))).text(),
  /** The current contents of a file. The text of a binary file is empty. */
  workspaceContent: async (id: string, path: string) => {
    const res = await request(api.workspaceFileUrl(id, path));
    const binary = !res.headers.get("Content-Type")?.startsWith("text/");
    return { binary, text: binary ? "" : await res.text() };
  },
  /** Restores earlier contents of a file. Without a digest, deletes it. */
  revertFile: (id: string, path: string, digest?: string) =>
    request(`${conversationPath(id)}/workspace/revert`, {
      method: "POST",
      body: { path, ...(digest ? { digest } : {}) },
    }),

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
  upload: (file: File) => json<Source>("/api/sources", sending("POST", file)),
  replaceUpload: (source: string, file: File) => json<Source>(`/api/sources/${enc(source)}`, sending("PUT", file)),
  appendToUpload: (source: string, file: File) =>
    json<Source>(`/api/sources/${enc(source)}/append`, sending("POST", file)),
  deleteUpload: (source: string) => request(`/api/sources/${enc(source)}`, { method: "DELETE" }),
  query: (source: string, body: { sql: string; conversation?: string; replaces?: string }, signal?: AbortSignal) =>
    json<QueryAnswer>(`/api/sources/${enc(source)}/query`, { method: "POST", body, signal }),
  /** Runs a statement over stored results of a conversation. */
  runCalculation: (conversation: string, body: { sql: string; replaces?: string }, signal?: AbortSignal) =>
    json<QueryAnswer>(`/api/conversations/${enc(conversation)}/calculations`, { method: "POST", body, signal }),
  /** Says where a row of a calculated result comes from. */
  origins: (conversation: string, id: string, row: number) =>
    json<Origins>(`/api/results/${enc(`${conversation}.${id}`)}/origins?row=${row}`),
  /** Records a query that ran in the browser as a new version of a result. */
  recordLocalQuery: (
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

  /** Reads a page of a result. view has parameters that filter and sort it. */
  result: (conversation: string, id: string, offset = 0, limit = 1000, signal?: AbortSignal, view = "") =>
    json<ResultPage>(
      `/api/results/${enc(`${conversation}.${id}`)}?offset=${offset}&limit=${limit}${view && `&${view}`}`,
      { signal },
    ),
  resultUrl: (conversation: string, id: string, format: "csv" | "xlsx" | "json" | "parquet" | "arrow") =>
    `/api/results/${enc(`${conversation}.${id}`)}?format=${format}`,
  /** All rows of a result whose stored rows were cut: its statement runs again. */
  allRowsUrl: (conversation: string, id: string, format: string) =>
    `/api/results/${enc(`${conversation}.${id}`)}/export?format=${format}`,

  /** Returns how many texts of a result got an apostrophe in a file, because a spreadsheet would run them. */
  formulas: async (url: string): Promise<number> =>
    Number((await request(url, { method: "HEAD" })).headers.get("X-Neutralized-Formulas") ?? 0),

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
  inbox: (before = "") =>
    json<{ items: InboxItem[]; next?: string; incomplete?: boolean }>(
      `/api/inbox${before ? `?before=${enc(before)}` : ""}`,
    ),
  proposals: () => json<{ proposals: Proposal[] }>("/api/proposals"),
  /** Runs the statement of a draft, and unless it is only checked, suggests it as a verified query. */
  propose: (draft: Draft, check: boolean) =>
    json<CheckedDraft>("/api/proposals", { method: "POST", body: { draft, check } }),
  review: (id: number, approve: boolean, words: string) =>
    json<{ proposal: Proposal }>(`/api/proposals/${id}/review`, {
      method: "POST",
      body: { approve, ...(words ? { words } : {}) },
    }),
  patchUrl: (id: number) => `/api/proposals/${id}/patch`,
  tests: () => json<{ suites: Suite[] }>("/api/tests"),
  runTests: (suite: string, mode: "planner" | "recordings") =>
    json<{ run: TestRun }>("/api/tests/runs", { method: "POST", body: { suite, mode }, timeout: 330_000 }),
  generateSQL: (question: string, source: string) =>
    json<{ sql: string; dialect: string }>("/api/generate-sql", { method: "POST", body: { question, source } }),
};
