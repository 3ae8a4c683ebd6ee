// The drawings of a symbol: a document of the server, and what was changed here and is
// on its way there. Whoever draws sees it at once; what the server has is the truth.
import { ApiError, sentence } from "../api/client";
import { draft, keepDraft } from "../composer/drafts";
import { drawings as calls, follow, type Document } from "./api";
import { fresh, sent } from "./edit";
import type { Change, Drawing } from "./types";

export interface DocState {
  drawings: readonly Drawing[];
  version: number;
  canUndo: boolean;
  canRedo: boolean;
  loading: boolean;
  error?: string; // it could not be had
  notice?: string; // something that was done here was not taken
  unsaved: number;
  trail: readonly Change[]; // the newest first
  more: boolean; // there is an older trail
}

const nothing: DocState = { drawings: [], version: 0, canUndo: false, canRedo: false, loading: true, unsaved: 0, trail: [], more: false };
const trailPage = 50;

export class Doc {
  private state: DocState = nothing;
  private server = new Map<string, Drawing>();
  private local = new Map<string, Drawing | null>(); // null: removed
  private bases = new Map<string, number | undefined>(); // versions that what an earlier page left rests on
  private offers = new Map<Drawing, (refusal?: string) => void>();
  private sending = new Set<string>();
  private renamed = new Map<string, string>(); // ids that were given here, and the server's
  private listeners = new Set<() => void>();
  private asked = 0; // answers that are on their way
  private recent: Change[] = []; // told meanwhile: an answer may be older
  private users = 0;
  private stop: AbortController | undefined;
  private made = 0;
  private late: string | undefined; // what was said of a change that waits

  constructor(readonly symbol: string) {}

  get = (): DocState => this.state;

  subscribe = (f: () => void): (() => void) => {
    this.listeners.add(f);
    return () => this.listeners.delete(f);
  };

  private set(change: Partial<DocState>): void {
    this.state = { ...this.state, ...change };
    for (const f of this.listeners) f();
  }

  /** What is shown: the server's, with what is on its way there. */
  private show(change: Partial<DocState> = {}): void {
    const all = this.local.size ? new Map(this.server) : this.server;
    for (const [id, d] of this.local) {
      if (d) all.set(id, d);
      else all.delete(id);
    }
    this.set({ ...change, drawings: [...all.values()], unsaved: this.local.size });
    this.keep();
  }

  private kept = "";

  /** What is not on the server yet outlasts the page: this tab sends it when it comes back. */
  private keep(): void {
    const left: Left[] = [...this.local].map(([id, d]) => ({ id, drawing: d, key: d ? keyOf(d) : undefined, base: this.baseOf(id) }));
    const text = left.length ? JSON.stringify(left) : "";
    if (text !== this.kept) keepDraft(draftOf(this.symbol), (this.kept = text));
    holdPage(this, left.length > 0);
  }

  /** Takes over what the page left that was here before this one. */
  private restore(): void {
    let left: Left[];
    try {
      left = JSON.parse(draft(draftOf(this.symbol)) || "[]") as Left[];
    } catch {
      return;
    }
    for (const { id, drawing, key, base } of left) {
      if (this.local.has(id)) continue; // it is this page's own
      if (id.startsWith(fresh)) this.made = Math.max(this.made, Number(id.slice(fresh.length)));
      if (drawing && key) keys.set(drawing, key);
      this.local.set(id, drawing);
      this.bases.set(id, base);
    }
    if (this.bases.size) this.show();
  }

  private baseOf(id: string): number | undefined {
    return this.bases.has(id) ? this.bases.get(id) : this.server.get(id)?.version;
  }

  /** Reads the document and follows it until the returned function is called. */
  open(): () => void {
    if (this.users++ === 0) {
      this.restore();
      this.stop = new AbortController();
      void this.follow(this.stop.signal);
    }
    return () => {
      if (--this.users === 0) this.stop?.abort();
    };
  }

  private async follow(signal: AbortSignal): Promise<void> {
    const ready = this.begin(signal);
    const path = () => `/api/drawings/stream?symbol=${encodeURIComponent(this.symbol)}&after=${this.state.version}`;
    await follow<Change>(`footnote drawings ${this.symbol}`, path, (all) => this.changed(all), () => {}, signal, ready);
  }

  private async begin(signal: AbortSignal): Promise<void> {
    while (!signal.aborted && !(await this.load(signal))) await new Promise((resolve) => setTimeout(resolve, 2000));
    for (const id of this.bases.keys()) void this.send(id);
  }

  /** Loads everything anew; false when it could not be had and is tried again. */
  load = async (signal?: AbortSignal): Promise<boolean> => {
    try {
      await this.asking(async () => {
        const [doc, trail] = await Promise.all([calls.all(this.symbol, signal), calls.history(this.symbol, { limit: trailPage }, signal)]);
        this.take(doc, { loading: false, error: undefined, trail: trail.changes, more: trail.changes.length === trailPage });
      });
      return true;
    } catch (err) {
      if (signal?.aborted) return false;
      this.set({ loading: false, error: sentence(err) });
      return err instanceof ApiError && err.status >= 400 && err.status < 500;
    }
  };

  /** Asks for what take is given: what is told until then is kept for it. */
  private async asking<T>(ask: () => Promise<T>): Promise<T> {
    this.asked++;
    try {
      return await ask();
    } finally {
      if (--this.asked === 0) this.recent = [];
    }
  }

  private take(doc: Document, more: Partial<DocState> = {}): void {
    this.server = new Map(doc.drawings.map((d) => [d.id, d]));
    this.show({ version: doc.version, ...(doc.can_undo === undefined ? {} : { canUndo: doc.can_undo }), ...(doc.can_redo === undefined ? {} : { canRedo: doc.can_redo }), ...more });
    const since = this.recent.filter((c) => c.version > doc.version); // told while the answer was on its way
    if (since.length) this.apply(since);
  }

  /** Changes that the server tells of: made here, on another device, or by an assistant.
   *  Those that came together are shown together: an import is thousands. */
  private changed(told: readonly Change[]): void {
    if (this.asked) this.recent = [...this.recent, ...told];
    this.apply(told);
  }

  private apply(told: readonly Change[]): void {
    for (const c of told) {
      const known = this.server.get(c.drawing);
      if (c.after) {
        if (!known || (known.version ?? 0) < c.version) this.server.set(c.drawing, c.after);
      } else if (!known || (known.version ?? 0) <= c.version) this.server.delete(c.drawing);
    }
    const held = this.state.trail;
    const known = new Set(held.map((t) => t.version));
    const all = [...told.filter((c) => !known.has(c.version)), ...held].sort((a, b) => b.version - a.version);
    const trail = all.slice(0, Math.max(trailPage, held.length)); // older ones are the server's, and there when asked for
    const { action, version } = told.at(-1)!;
    const news = version > this.state.version; // no answer has said it before
    const back = action === "undo" || action === "redo";
    this.show({ version: Math.max(this.state.version, version), trail, more: this.state.more || trail.length < all.length, ...(news && !back ? { canUndo: true, canRedo: false } : {}) });
    if (news && back) void this.flags();
  }

  private checking = false;
  private again = false;

  /** Whether something can be undone is the server's to say. */
  private async flags(): Promise<void> {
    this.again = true; // an answer on its way may be too old
    if (this.checking) return;
    this.checking = true;
    while (this.again) {
      this.again = false;
      try {
        await this.asking(async () => {
          const doc = await calls.all(this.symbol);
          if (doc.version >= this.state.version && !this.local.size) this.take(doc);
        });
      } catch {
        // The next change says it again.
      }
    }
    this.checking = false;
  }

  /** The drawing with an id, also with one that it had before it was saved. */
  find = (id: string | undefined): Drawing | undefined => {
    if (!id) return undefined;
    const now = this.idOf(id);
    const mine = this.local.get(now);
    return mine === null ? undefined : (mine ?? this.server.get(now));
  };

  idOf = (id: string): string => this.renamed.get(id) ?? id;

  /** Adds a drawing and gives the id it has until the server knows it. */
  add = (d: Omit<Drawing, "id">): string => {
    const id = `${fresh}${++this.made}`;
    this.save({ ...d, id });
    return id;
  };

  /** Changes a drawing: at once here, soon on the server. */
  save = (d: Drawing): void => this.put({ ...d, id: this.idOf(d.id) });

  /** Changes a drawing and says why the server does not take it; nothing when it does, or
   *  cannot be reached: then it is sent again. */
  offer = (d: Drawing): Promise<string | undefined> =>
    new Promise((resolve) => {
      const mine = { ...d, id: this.idOf(d.id) };
      this.offers.set(mine, resolve);
      this.put(mine);
    });

  private put(mine: Drawing): void {
    this.answer(this.local.get(mine.id)); // what comes later says more
    this.local.set(mine.id, mine);
    this.show({ notice: undefined });
    void this.send(mine.id);
  }

  /** Answers who offered a change; false when nobody did. */
  private answer(mine: Drawing | null | undefined, refusal?: string): boolean {
    const tell = mine && this.offers.get(mine);
    if (mine) this.offers.delete(mine);
    tell?.(refusal);
    return Boolean(tell);
  }

  remove = (id: string): void => {
    const now = this.idOf(id);
    this.answer(this.local.get(now));
    this.local.set(now, null);
    this.show({ notice: undefined });
    void this.send(now);
  };

  /** Sends what is waiting of one drawing, one thing after the other. */
  private async send(id: string): Promise<void> {
    if (this.sending.has(id)) return;
    let at = id;
    this.sending.add(at);
    try {
      while (this.local.has(at)) {
        const now = await this.sendOnce(at);
        if (now === at) continue;
        this.sending.delete(at);
        this.sending.add((at = now)); // what is changed under its new id waits for its turn, too
      }
    } finally {
      this.sending.delete(at);
    }
  }

  private async sendOnce(id: string): Promise<string> {
    const mine = this.local.get(id) as Drawing | null;
    const base = this.baseOf(id);
    try {
      let now = id;
      if (mine === null) await this.sendRemoval(id, base);
      else now = await this.sendDrawing(id, mine, base);
      if (this.late !== undefined && this.state.notice === this.late) this.hush(); // it is true no more
      return now;
    } catch (err) {
      await this.refused(id, mine, err);
      return id;
    } finally {
      if (this.local.get(id) !== mine) this.bases.delete(id);
    }
  }

  private async sendRemoval(id: string, base: number | undefined): Promise<void> {
    if (this.server.has(id)) {
      const { version } = await calls.remove(this.symbol, id, base);
      this.server.delete(id);
      this.set({ version: Math.max(this.state.version, version), canUndo: true, canRedo: false });
    }
    if (this.local.get(id) === null) this.local.delete(id);
    this.show();
  }

  private async sendDrawing(id: string, mine: Drawing, base: number | undefined): Promise<string> {
    const { drawing, version } = await calls.save(this.symbol, sent(mine), keyOf(mine), base);
    if ((this.server.get(drawing.id)?.version ?? 0) <= (drawing.version ?? version)) this.server.set(drawing.id, drawing);
    const next = this.local.get(id);
    this.local.delete(id);
    this.answer(mine);
    if (drawing.id !== id) this.renamed.set(id, drawing.id);
    if (next !== mine && next !== undefined) this.local.set(drawing.id, next && { ...next, id: drawing.id });
    this.show({ canUndo: true, canRedo: false });
    return drawing.id;
  }

  /** What the server refuses is taken back here and said; what does not reach it is
   *  tried again. */
  private async refused(id: string, mine: Drawing | null, err: unknown): Promise<void> {
    const later = err instanceof ApiError && (err.status === 0 || err.status === 429 || err.status >= 500);
    if (later) {
      this.answer(mine);
      this.late = `Not saved yet: ${sentence(err)}`;
      this.show({ notice: this.late });
      await new Promise((resolve) => setTimeout(resolve, 3000));
      return;
    }
    if (this.local.get(id) === mine) this.local.delete(id);
    const changed = err instanceof ApiError && err.status === 409;
    if (changed) await this.load();
    else if (mine === null && err instanceof ApiError && err.status === 404) {
      this.server.delete(id);
      return this.show();
    }
    const words = changed ? "It was changed elsewhere meanwhile. What is there now is shown; your change was not made." : sentence(err);
    this.show(this.answer(mine, words) ? {} : { notice: words });
  }

  /** Waits until all that was changed here is on the server. */
  private async settled(): Promise<void> {
    if (!this.local.size) return;
    await new Promise<void>((resolve) => {
      const stop = this.subscribe(() => {
        if (this.local.size) return;
        stop();
        resolve();
      });
    });
  }

  back = (which: "undo" | "redo"): Promise<void> => this.stepped(() => calls.back(this.symbol, which));

  private async stepped(step: () => Promise<Document>): Promise<void> {
    try {
      await this.settled();
      await this.asking(async () => this.take(await step(), { notice: undefined }));
    } catch (err) {
      this.set({ notice: sentence(err) });
      void this.flags();
    }
  }

  /** Takes back one change, not only the last one, with all that was made in one with it. */
  revert = async (c: Change): Promise<void> => this.stepped(() => calls.back(this.symbol, "undo", c.step));

  older = async (): Promise<void> => {
    const last = this.state.trail.at(-1);
    if (!last) return;
    try {
      const { changes } = await calls.history(this.symbol, { before: last.version, limit: trailPage });
      const known = new Set(this.state.trail.map((c) => c.version));
      this.set({ trail: [...this.state.trail, ...changes.filter((c) => !known.has(c.version))], more: changes.length === trailPage });
    } catch (err) {
      this.set({ notice: sentence(err) });
    }
  };

  hush = (): void => this.set({ notice: undefined });

  import = async (text: string): Promise<void> => {
    try {
      const file = JSON.parse(text) as { symbol?: string };
      if (file.symbol !== this.symbol) throw new ApiError(400, "invalid_request", `This file has drawings of ${file.symbol ?? "no symbol"}, and this is ${this.symbol}.`);
      await calls.import(file);
      await this.load();
    } catch (err) {
      this.set({ notice: err instanceof SyntaxError ? "This file is no JSON." : sentence(err) });
    }
  };
}

/** The steps that are taken back, as far as a trail, the newest first, knows: the last
 *  undo or redo of a step counts. */
export function takenBack(trail: readonly Change[]): ReadonlySet<number> {
  const last = new Map<number, Change["action"]>();
  for (const t of trail) if (t.reverts && !last.has(t.reverts)) last.set(t.reverts, t.action);
  return new Set([...last].filter(([, action]) => action === "undo").map(([step]) => step));
}

const keys = new WeakMap<Drawing, string>();

/** A key for one state of a drawing: sent twice, it is one change. */
function keyOf(d: Drawing): string {
  const key = keys.get(d) ?? Array.from(crypto.getRandomValues(new Uint32Array(4)), (n) => n.toString(36)).join("");
  keys.set(d, key);
  return key;
}

/** A change that a page could not send. */
interface Left {
  id: string;
  drawing: Drawing | null; // null: removed
  key?: string;
  base?: number;
}

const draftOf = (symbol: string) => `drawings ${symbol}`;

const unsaved = new Set<Doc>();
const ask = (e: Event) => e.preventDefault();

/** While something is on its way to the server the page is not left without a question. */
function holdPage(doc: Doc, on: boolean): void {
  const had = unsaved.size > 0;
  if (on) unsaved.add(doc);
  else unsaved.delete(doc);
  if (unsaved.size > 0 === had) return;
  if (had) globalThis.removeEventListener?.("beforeunload", ask);
  else globalThis.addEventListener?.("beforeunload", ask);
}

const kept = 8;
const docs = new Map<string, Doc>();

/** The document of a symbol; the last few stay. */
export function docOf(symbol: string): Doc {
  const doc = docs.get(symbol) ?? new Doc(symbol);
  docs.delete(symbol);
  docs.set(symbol, doc);
  const oldest = docs.keys().next().value;
  if (docs.size > kept && oldest !== undefined) docs.delete(oldest);
  return doc;
}
