// The events of a conversation, as GET /api/conversations/{id}/events sends them, and the deltas of a growing message.
// The server's types are in event.go, result.go, cite.go and delta.go.

export interface Column {
  name: string;
  kind?: string;
  unit?: string; // of its numbers, as the company's context says: EUR, kg or %
  format?: string; // a pattern such as 0.00 or 0%
}

export type Cell = string | number | boolean | null;

export interface StoredResult {
  id: string; // r1, r2, … unique in its conversation
  source?: string;
  sql?: string;
  parents?: string[]; // ids of the results that a calculated one was computed from
  columns: Column[];
  row_count: number;
  truncated?: boolean;
  verified?: Verified;
}

/** The verified query whose very text returned a result. */
export interface Verified {
  query: string;
  question: string; // the question that it answers
  by: string;
  on: string; // 2006-01-02
}

/** The footnote of one number. start and end are UTF-8 byte offsets. */
export interface Cite {
  start: number;
  end: number;
  text: string;
  result?: string;
  row?: number;
  column?: string;
  formula?: string;
  value?: string;
  confidence: number;
  marked?: boolean; // the model named the cell or formula, and it was verified
}

export interface Unresolved {
  start: number;
  end: number;
  text: string;
  reason?: string;
}

/** What the page of a module showed when a question was asked, such as the symbol of a chart. */
export type Place = Readonly<Record<string, string | undefined>>;

/** A chart that the server has checked. */
export interface ChartSpec {
  result: string;
  type: "bar" | "line" | "area" | "scatter" | "pie" | "histogram" | "table";
  x?: string;
  y?: string[];
  series?: string;
  title?: string;
  sort?: string;
}

export interface Usage {
  input: number;
  cache_write_5m?: number;
  cache_write_1h?: number;
  cache_read?: number;
  output: number;
  thinking?: number;
  searches?: number;
  estimated?: boolean;
}

export interface Cost {
  micro_usd: number;
  unpriced?: boolean;
}

/** A block of a message by the model. Only the fields that the page shows are listed. */
export interface Block {
  type: string;
  text?: string;
  thinking?: string;
  id?: string;
  name?: string;
  input?: unknown;
}

/** How to show the calls of a tool. */
export interface CalledTool {
  label?: string;
  family?: string;
}

interface Ended {
  steps?: number;
  usage?: Usage;
  cost?: Cost;
  millis: number;
}

export interface Bodies {
  opened: { assistant: string; model: string; tier?: string; sources?: string[] };
  user_message: { text: string; context?: string; where?: Place };
  imported: { turns: { role: "user" | "assistant"; text: string }[] };
  assistant_message: {
    step: number;
    model: string;
    blocks: Block[];
    stop_reason: string;
    usage: Usage;
    cost: Cost;
    /** The tools that the blocks call, by name. */
    tools?: Record<string, CalledTool>;
  };
  tool_result: {
    call_id: string;
    name: string;
    content: string;
    is_error?: boolean;
    millis?: number;
    cache_hit?: boolean;
    /** When the statement ran, if the result came from the cache. */
    ran_at?: string;
    result?: StoredResult;
    chart?: ChartSpec;
    /** Details for the page to show, such as a diff. */
    detail?: unknown;
    by?: string;
  };
  /** reason says why a statement that reads much needs an approval, and outside which text from outside makes one of
   * this call alone necessary. */
  approval_asked: { approval_id: string; call_id: string; reason?: string; outside?: string };
  approval_given: { approval_id: string; call_id: string; approved: boolean; reason?: string; user?: string };
  run_started: {
    door: string;
    on_disconnect?: string;
    request_id?: string;
    /** The model from this run on, if another tier or effort was chosen. */
    choice?: { model: string; tier?: string; effort?: string };
    weight?: number; // how often each token counts; undefined: once
  };
  run_parked: { calls: string[]; deadline: string };
  run_resumed: { attempt: number; reason: string };
  run_finished: Ended & { reason: string };
  run_failed: Ended & { code: string; message: string; retry_after_ms?: number };
  run_stopped: Ended & { by: string };
  step_failed: { step: number; attempt: number; partial?: string; code: string; usage: Usage; cost: Cost };
  segmented: { from_seq: number; summary: string };
  rewound: { to_seq: number };
  answered: {
    text: string;
    footnotes: Cite[];
    unresolved?: Unresolved[];
    chart?: ChartSpec;
    /** The results behind the answer that verified queries returned. */
    verified?: (Verified & { result: string })[];
  };
  titled: { title: string };
  feedback: { seq: number; good: boolean; words?: string };
  /** A person ran a statement. The result is a new version of `replaces`, if that is set. */
  query_run: { result: StoredResult; replaces?: string; by?: string; millis?: number };
}

export type Kind = keyof Bodies;

export type LogEvent = {
  [K in Kind]: { seq: number; time: string; kind: K; run?: string; body: Bodies[K] };
}[Kind];

export interface Delta {
  run: string;
  step: number;
  attempt: number;
  op: "start" | "grow" | "end" | "retrying" | "broke";
  index?: number;
  kind?: "text" | "thinking" | "tool_use";
  id?: string;
  name?: string;
  text?: string;
  code?: string;
  wait_ms?: number;
}

export type Frame = { event: LogEvent } | { delta: Delta };
