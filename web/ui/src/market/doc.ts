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

const nothing: DocState = {
  drawings: [],
  version: 0,
  canUndo: false,
  canRedo: false,
  loading: true,
  unsaved: 0,
  trail: [],
  more: false,
};
const trailPage = 50;

export class Doc {
  private state: DocState = nothing;
  private server = new Map<string, Drawing>();
  private local = new Map<string, Mine>();
  private unsure = new Map<string, Mine>(); // sent, and perhaps taken: no answer came
  // Versions between which nobody else changed a drawing.
  private ours = new Map<string, { from: number; to: number }>();
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
    for (const [id, { drawing }] of this.local) {
      if (drawing) all.set(id, drawing);
      else all.delete(id);
    }
    this.set({ ...change, drawings: [...all.values()], unsaved: this.local.size });
    this.keep();
  }

  private kept = "";

  /** What is not on the server yet outlasts the page: this tab sends it when it comes back. */
  private keep(): void {
    const left: Left[] = [...this.local].flatMap(([id, mine]) =>
      [...new Set([this.unsure.get(id) ?? mine, mine])].map(({ drawing, base, key }) => ({
        id,
        drawing,
        key,
        base: this.baseOf(id, base),
      })),
    );
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
    const own = new Set(this.local.keys());
    for (const { id, drawing, key, base = 0 } of left) {
      if (own.has(id)) continue; // it is this page's own
      const before = this.local.get(id); // of which nobody knows whether it was taken
      if (before) this.unsure.set(id, before);
      if (id.startsWith(fresh)) this.made = Math.max(this.made, Number(id.slice(fresh.length)));
      this.local.set(id, { drawing, base, key: key ?? newKey() });
    }
    if (this.local.size) this.show();
  }

  /** The version a change rests on: the one it was made on, or what this page itself has
   *  made of that since. Where somebody else was quicker the server then says so. */
  private baseOf(id: string, base: number): number {
    const own = this.ours.get(id);
    return own && base >= own.from && base < own.to ? own.to : base;
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
    const reset = () => void this.begin(signal);
    await follow<Change>(
      `footnote drawings ${this.symbol}`,
      path,
      (all) => this.changed(all),
      () => {},
      signal,
      ready,
      reset,
    );
  }

  private async begin(signal: AbortSignal): Promise<void> {
    while (!signal.aborted && !(await this.load(signal))) await new Promise((resolve) => setTimeout(resolve, 2000));
    for (const id of this.local.keys()) void this.send(id);
  }

  /** Loads everything anew; false when it could not be had and is tried again. */
  load = async (signal?: AbortSignal): Promise<boolean> => {
    try {
      await this.asking(async () => {
        const [doc, trail] = await Promise.all([
          calls.all(this.symbol, signal),
          calls.history(this.symbol, { limit: trailPage }, signal),
        ]);
        this.take(doc, {
          loading: false,
          error: undefined,
          trail: trail.changes,
          more: trail.changes.length === trailPage,
        });
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
    this.show({
      version: doc.version,
      ...(doc.can_undo === undefined ? {} : { canUndo: doc.can_undo }),
      ...(doc.can_redo === undefined ? {} : { canRedo: doc.can_redo }),
      ...more,
    });
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
    // Older ones stay on the server until they are asked for.
    const trail = all.slice(0, Math.max(trailPage, held.length));
    const { action, version } = told.at(-1)!;
    const news = version > this.state.version; // no answer has said it before
    const back = action === "undo" || action === "redo";
    this.show({
      version: Math.max(this.state.version, version),
      trail,
      more: this.state.more || trail.length < all.length,
      ...(news && !back ? { canUndo: true, canRedo: false } : {}),
    });
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
    return mine ? (mine.drawing ?? undefined) : this.server.get(now);
  };

  idOf = (id: string): string => this.renamed.get(id) ?? id;

  /** Adds a drawing and gives the id it has until the server knows it. */
  add = (d: Omit<Drawing, "id">): string => {
    const id = `${fresh}${++this.made}`;
    this.save({ ...d, id });
    return id;
  };

  /** Changes a drawing: at once here, soon on the server. It rests on the version that it
   *  has, which is the one it was seen in. */
  save = (d: Drawing): void => this.put(d);

  /** Changes a drawing and says why the server does not take it; nothing when it does, or
   *  cannot be reached: then it is sent again. */
  offer = (d: Drawing): Promise<Refusal | undefined> => new Promise((resolve) => this.put(d, resolve));

  private put(d: Drawing, tell?: Mine["tell"]): void {
    const id = this.idOf(d.id);
    this.mean(id, { drawing: { ...d, id }, base: d.version ?? 0, key: newKey(), tell });
  }

  remove = (id: string): void => {
    const d = this.find(id);
    if (d) this.mean(d.id, { drawing: null, base: d.version ?? 0, key: newKey() });
  };

  private mean(id: string, mine: Mine): void {
    const before = this.local.get(id);
    if (before) answer(before); // what comes later says more
    this.local.set(id, mine);
    this.show({ notice: undefined });
    void this.send(id);
  }

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
    const mine = this.unsure.get(id) ?? this.local.get(id)!;
    try {
      const now = mine.drawing ? await this.sendDrawing(id, mine, mine.drawing) : await this.sendRemoval(id, mine);
      this.unsure.delete(id);
      if (this.late !== undefined && this.state.notice === this.late) this.hush(); // it is true no more
      return now;
    } catch (err) {
      await this.refused(id, mine, err);
      return id;
    }
  }

  private async sendRemoval(id: string, mine: Mine): Promise<string> {
    if (this.server.has(id)) {
      const { version } = await calls.remove(this.symbol, id, this.baseOf(id, mine.base) || undefined);
      this.server.delete(id);
      this.set({ version: Math.max(this.state.version, version), canUndo: true, canRedo: false });
    }
    if (this.local.get(id) === mine) this.local.delete(id);
    this.show();
    return id;
  }

  private async sendDrawing(id: string, mine: Mine, d: Drawing): Promise<string> {
    const base = this.baseOf(id, mine.base);
    const { drawing, version } = await calls.save(this.symbol, sent(d), mine.key, base || undefined);
    this.rests(drawing.id, base, drawing.version ?? version);
    if ((this.server.get(drawing.id)?.version ?? 0) <= (drawing.version ?? version))
      this.server.set(drawing.id, drawing);
    const next = this.local.get(id);
    this.local.delete(id);
    answer(mine);
    if (drawing.id !== id) this.renamed.set(id, drawing.id);
    if (next && next !== mine)
      this.local.set(drawing.id, { ...next, drawing: next.drawing && { ...next.drawing, id: drawing.id } });
    this.show({ canUndo: true, canRedo: false });
    return drawing.id;
  }

  /** Notes that a change which rested on one version has made another. */
  private rests(id: string, base: number, version: number): void {
    const own = this.ours.get(id);
    if (version > base) this.ours.set(id, { from: own?.to === base ? own.from : base, to: version });
  }

  /** What the server refuses is taken back here and said; what does not reach it is
   *  tried again. */
  private async refused(id: string, mine: Mine, err: unknown): Promise<void> {
    const status = err instanceof ApiError ? err.status : undefined;
    if (status === 0 || status === 429 || (status !== undefined && status >= 500)) return this.waits(id, mine, err);
    this.unsure.delete(id);
    if (this.local.get(id) === mine) this.local.delete(id);
    const stale = status === 409;
    if (stale) await this.load();
    else if (!mine.drawing && status === 404) {
      this.server.delete(id);
      return this.show();
    }
    const words = stale ? "It was changed elsewhere meanwhile, and your change was not made." : sentence(err);
    if (answer(mine, { words, stale })) this.show();
    else this.show({ notice: stale ? `${words} What is there now is shown.` : words });
  }

  /** Says that a change waits, and lets it wait. */
  private async waits(id: string, mine: Mine, err: unknown): Promise<void> {
    // It may have been taken: what was changed since must not go before it.
    if (err instanceof ApiError && err.status === 0) this.unsure.set(id, mine);
    answer(mine);
    this.late = `Not saved yet: ${sentence(err)}`;
    this.show({ notice: this.late });
    await new Promise((resolve) => setTimeout(resolve, 3000));
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
      this.set({
        trail: [...this.state.trail, ...changes.filter((c) => !known.has(c.version))],
        more: changes.length === trailPage,
      });
    } catch (err) {
      this.set({ notice: sentence(err) });
    }
  };

  hush = (): void => this.set({ notice: undefined });

  import = async (text: string): Promise<void> => {
    try {
      const file = JSON.parse(text) as { symbol?: string };
      if (file.symbol !== this.symbol)
        throw new ApiError(
          400,
          "invalid_request",
          `This file has drawings of ${file.symbol ?? "no symbol"}, and this is ${this.symbol}.`,
        );
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

/** A change that is on its way to the server. */
interface Mine {
  readonly drawing: Drawing | null; // null: removed
  readonly base: number; // the version it was made on; 0: none
  readonly key: string; // sent twice, it is one change
  tell?: (refusal?: Refusal) => void; // whoever offered it
}

export interface Refusal {
  words: string;
  stale: boolean; // somebody else was quicker
}

const newKey = (): string => Array.from(crypto.getRandomValues(new Uint32Array(4)), (n) => n.toString(36)).join("");

/** Answers who offered a change; false when nobody did. */
function answer(mine: Mine, refusal?: Refusal): boolean {
  const { tell } = mine;
  mine.tell = undefined;
  tell?.(refusal);
  return tell !== undefined;
}

/** A change that a page could not send. */
interface Left {
  id: string;
  drawing: Drawing | null;
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
