// The drawings of a symbol: the server's document, plus the local changes that are not saved yet. Local changes are
// shown immediately; the server's document wins in a conflict.
import { ApiError, errorMessage } from "../api/client";
import { draft, keepDraft } from "../composer/drafts";
import { drawings as calls, follow, type Document } from "./api";
import { temporaryPrefix, toSend } from "./edit";
import type { Change, Drawing } from "./types";

export interface DocState {
  drawings: readonly Drawing[];
  version: number;
  canUndo: boolean;
  canRedo: boolean;
  loading: boolean;
  error?: string; // why it could not be loaded
  notice?: string; // why a local change was not saved
  unsaved: number;
  trail: readonly Change[]; // newest first
  more: boolean; // whether the server has older changes
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
  private local = new Map<string, LocalChange>();
  private maybeAccepted = new Map<string, LocalChange>(); // sent without a response: the server may have accepted them
  // By drawing, a range of versions within which only this page changed it.
  private ownVersions = new Map<string, { from: number; to: number }>();
  private sending = new Set<string>();
  private renamed = new Map<string, string>(); // temporary ids to the server's
  private listeners = new Set<() => void>();
  private pending = 0; // requests for the document
  private recent: Change[] = []; // received while a request is pending, whose response may be older
  private users = 0;
  private stop: AbortController | undefined;
  private lastTemporaryId = 0;
  private lateNotice: string | undefined; // the notice about a change that waits

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

  /** Computes the drawings to show: the server's with the local changes. */
  private show(change: Partial<DocState> = {}): void {
    const all = this.local.size ? new Map(this.server) : this.server;
    for (const [id, { drawing }] of this.local) {
      if (drawing) all.set(id, drawing);
      else all.delete(id);
    }
    this.set({ ...change, drawings: [...all.values()], unsaved: this.local.size });
    this.storeUnsaved();
  }

  private stored = "";

  /** Stores the unsaved changes in the tab, so that the next page can send them. */
  private storeUnsaved(): void {
    const unsaved: Unsaved[] = [...this.local].flatMap(([id, mine]) =>
      [...new Set([this.maybeAccepted.get(id) ?? mine, mine])].map(({ drawing, base, key }) => ({
        id,
        drawing,
        key,
        base: this.baseOf(id, base),
      })),
    );
    const text = unsaved.length ? JSON.stringify(unsaved) : "";
    if (text !== this.stored) keepDraft(draftOf(this.symbol), (this.stored = text));
    confirmLeaving(this, unsaved.length > 0);
  }

  /** Restores the unsaved changes of the previous page. */
  private restore(): void {
    let unsaved: Unsaved[];
    try {
      unsaved = JSON.parse(draft(draftOf(this.symbol)) || "[]") as Unsaved[];
    } catch {
      return;
    }
    const own = new Set(this.local.keys());
    for (const { id, drawing, key, base = 0 } of unsaved) {
      if (own.has(id)) continue;
      const before = this.local.get(id); // an earlier entry, which the server may have accepted
      if (before) this.maybeAccepted.set(id, before);
      if (id.startsWith(temporaryPrefix))
        this.lastTemporaryId = Math.max(this.lastTemporaryId, Number(id.slice(temporaryPrefix.length)));
      this.local.set(id, { drawing, base, key: key ?? newKey() });
    }
    if (this.local.size) this.show();
  }

  /** Returns the base version to send with a change: the version it was made on, or a later one if only this page has
   *  changed the drawing since. With another base, the server reports a conflict. */
  private baseOf(id: string, base: number): number {
    const own = this.ownVersions.get(id);
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

  /** Loads the document and the trail. Returns false if that failed and is worth another try. */
  load = async (signal?: AbortSignal): Promise<boolean> => {
    try {
      await this.request(async () => {
        const [doc, trail] = await Promise.all([
          calls.all(this.symbol, signal),
          calls.history(this.symbol, { limit: trailPage }, signal),
        ]);
        this.replace(doc, {
          loading: false,
          error: undefined,
          trail: trail.changes,
          more: trail.changes.length === trailPage,
        });
      });
      return true;
    } catch (err) {
      if (signal?.aborted) return false;
      this.set({ loading: false, error: errorMessage(err) });
      return err instanceof ApiError && err.status >= 400 && err.status < 500;
    }
  };

  /** Runs a request whose response is passed to replace. Changes that arrive meanwhile are kept, and replace applies
   *  them. */
  private async request<T>(send: () => Promise<T>): Promise<T> {
    this.pending++;
    try {
      return await send();
    } finally {
      if (--this.pending === 0) this.recent = [];
    }
  }

  private replace(doc: Document, more: Partial<DocState> = {}): void {
    this.server = new Map(doc.drawings.map((d) => [d.id, d]));
    this.show({
      version: doc.version,
      ...(doc.can_undo === undefined ? {} : { canUndo: doc.can_undo }),
      ...(doc.can_redo === undefined ? {} : { canRedo: doc.can_redo }),
      ...more,
    });
    const since = this.recent.filter((c) => c.version > doc.version); // received before the response
    if (since.length) this.apply(since);
  }

  /** Handles changes from the stream, made here, on another device or by an assistant. Changes that arrive together are
   *  shown together, because an import can have thousands. */
  private changed(changes: readonly Change[]): void {
    if (this.pending) this.recent = [...this.recent, ...changes];
    this.apply(changes);
  }

  private apply(changes: readonly Change[]): void {
    for (const c of changes) {
      const known = this.server.get(c.drawing);
      if (c.after) {
        if (!known || (known.version ?? 0) < c.version) this.server.set(c.drawing, c.after);
      } else if (!known || (known.version ?? 0) <= c.version) this.server.delete(c.drawing);
    }
    const held = this.state.trail;
    const known = new Set(held.map((t) => t.version));
    const all = [...changes.filter((c) => !known.has(c.version)), ...held].sort((a, b) => b.version - a.version);
    // older() loads older changes when they are needed.
    const trail = all.slice(0, Math.max(trailPage, held.length));
    const { action, version } = changes.at(-1)!;
    const isNew = version > this.state.version; // not in a response yet
    const isUndo = action === "undo" || action === "redo";
    this.show({
      version: Math.max(this.state.version, version),
      trail,
      more: this.state.more || trail.length < all.length,
      ...(isNew && !isUndo ? { canUndo: true, canRedo: false } : {}),
    });
    if (isNew && isUndo) void this.updateUndo();
  }

  private updating = false;
  private updateAgain = false;

  /** Asks the server whether there is something to undo or redo. */
  private async updateUndo(): Promise<void> {
    this.updateAgain = true; // the response to a pending request may be out of date
    if (this.updating) return;
    this.updating = true;
    while (this.updateAgain) {
      this.updateAgain = false;
      try {
        await this.request(async () => {
          const doc = await calls.all(this.symbol);
          if (doc.version >= this.state.version && !this.local.size) this.replace(doc);
        });
      } catch {
        // The next change tries again.
      }
    }
    this.updating = false;
  }

  /** Returns the drawing with an id, which can be its temporary one. */
  find = (id: string | undefined): Drawing | undefined => {
    if (!id) return undefined;
    const now = this.idOf(id);
    const mine = this.local.get(now);
    return mine ? (mine.drawing ?? undefined) : this.server.get(now);
  };

  idOf = (id: string): string => this.renamed.get(id) ?? id;

  /** Adds a drawing and returns its temporary id. */
  add = (d: Omit<Drawing, "id">): string => {
    const id = `${temporaryPrefix}${++this.lastTemporaryId}`;
    this.save({ ...d, id });
    return id;
  };

  /** Changes a drawing immediately and sends it to the server. The change is based on the version of d. */
  save = (d: Drawing): void => this.put(d);

  /** Saves a drawing. Resolves with the refusal if the server refuses it, and otherwise with undefined, also if the
   *  server is unreachable; then the change is sent later. */
  trySave = (d: Drawing): Promise<Refusal | undefined> => new Promise((resolve) => this.put(d, resolve));

  private put(d: Drawing, onDone?: LocalChange["onDone"]): void {
    const id = this.idOf(d.id);
    this.setLocal(id, { drawing: { ...d, id }, base: d.version ?? 0, key: newKey(), onDone });
  }

  remove = (id: string): void => {
    const d = this.find(id);
    if (d) this.setLocal(d.id, { drawing: null, base: d.version ?? 0, key: newKey() });
  };

  private setLocal(id: string, mine: LocalChange): void {
    const before = this.local.get(id);
    if (before) finish(before); // the later change replaces it
    this.local.set(id, mine);
    this.show({ notice: undefined });
    void this.send(id);
  }

  /** Sends the changes of one drawing, one after the other. */
  private async send(id: string): Promise<void> {
    if (this.sending.has(id)) return;
    let at = id;
    this.sending.add(at);
    try {
      while (this.local.has(at)) {
        const now = await this.sendOnce(at);
        if (now === at) continue;
        this.sending.delete(at);
        this.sending.add((at = now)); // changes under the new id must wait, too
      }
    } finally {
      this.sending.delete(at);
    }
  }

  private async sendOnce(id: string): Promise<string> {
    const mine = this.maybeAccepted.get(id) ?? this.local.get(id)!;
    try {
      const now = mine.drawing ? await this.sendDrawing(id, mine, mine.drawing) : await this.sendRemoval(id, mine);
      this.maybeAccepted.delete(id);
      if (this.lateNotice !== undefined && this.state.notice === this.lateNotice) this.clearNotice();
      return now;
    } catch (err) {
      await this.handleError(id, mine, err);
      return id;
    }
  }

  private async sendRemoval(id: string, mine: LocalChange): Promise<string> {
    if (this.server.has(id)) {
      const { version } = await calls.remove(this.symbol, id, this.baseOf(id, mine.base) || undefined);
      this.server.delete(id);
      this.set({ version: Math.max(this.state.version, version), canUndo: true, canRedo: false });
    }
    if (this.local.get(id) === mine) this.local.delete(id);
    this.show();
    return id;
  }

  private async sendDrawing(id: string, mine: LocalChange, d: Drawing): Promise<string> {
    const base = this.baseOf(id, mine.base);
    const { drawing, version } = await calls.save(this.symbol, toSend(d), mine.key, base || undefined);
    this.recordOwn(drawing.id, base, drawing.version ?? version);
    if ((this.server.get(drawing.id)?.version ?? 0) <= (drawing.version ?? version))
      this.server.set(drawing.id, drawing);
    const next = this.local.get(id);
    this.local.delete(id);
    finish(mine);
    if (drawing.id !== id) this.renamed.set(id, drawing.id);
    if (next && next !== mine)
      this.local.set(drawing.id, { ...next, drawing: next.drawing && { ...next.drawing, id: drawing.id } });
    this.show({ canUndo: true, canRedo: false });
    return drawing.id;
  }

  /** Records that this page made a version of a drawing from its base version. */
  private recordOwn(id: string, base: number, version: number): void {
    const own = this.ownVersions.get(id);
    if (version > base) this.ownVersions.set(id, { from: own?.to === base ? own.from : base, to: version });
  }

  /** Handles an error: reverts a change that the server refused, and keeps one that did not reach it. */
  private async handleError(id: string, mine: LocalChange, err: unknown): Promise<void> {
    const status = err instanceof ApiError ? err.status : undefined;
    if (status === 0 || status === 429 || (status !== undefined && status >= 500)) return this.delay(id, mine, err);
    this.maybeAccepted.delete(id);
    if (this.local.get(id) === mine) this.local.delete(id);
    const stale = status === 409;
    if (stale) await this.load();
    else if (!mine.drawing && status === 404) {
      this.server.delete(id);
      return this.show();
    }
    const words = stale ? "The drawing was changed elsewhere, so your change was not saved." : errorMessage(err);
    if (finish(mine, { words, stale })) this.show();
    else this.show({ notice: stale ? `${words} The chart shows the newer version.` : words });
  }

  /** Shows that a change is not saved yet, and waits before the next attempt. */
  private async delay(id: string, mine: LocalChange, err: unknown): Promise<void> {
    // The server may have accepted the change, so it must be sent again before later changes.
    if (err instanceof ApiError && err.status === 0) this.maybeAccepted.set(id, mine);
    finish(mine);
    this.lateNotice = `Not saved yet: ${errorMessage(err)}`;
    this.show({ notice: this.lateNotice });
    await new Promise((resolve) => setTimeout(resolve, 3000));
  }

  /** Waits until all local changes are saved. */
  private async allSaved(): Promise<void> {
    if (!this.local.size) return;
    await new Promise<void>((resolve) => {
      const stop = this.subscribe(() => {
        if (this.local.size) return;
        stop();
        resolve();
      });
    });
  }

  undoOrRedo = (which: "undo" | "redo"): Promise<void> => this.step(() => calls.undoOrRedo(this.symbol, which));

  private async step(send: () => Promise<Document>): Promise<void> {
    try {
      await this.allSaved();
      await this.request(async () => this.replace(await send(), { notice: undefined }));
    } catch (err) {
      this.set({ notice: errorMessage(err) });
      void this.updateUndo();
    }
  }

  /** Undoes the step of a change, which need not be the last one. */
  revert = async (c: Change): Promise<void> => this.step(() => calls.undoOrRedo(this.symbol, "undo", c.step));

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
      this.set({ notice: errorMessage(err) });
    }
  };

  clearNotice = (): void => this.set({ notice: undefined });

  import = async (text: string): Promise<void> => {
    try {
      const file = JSON.parse(text) as { symbol?: string };
      if (file.symbol !== this.symbol)
        throw new ApiError(
          400,
          "invalid_request",
          `The file has drawings of ${file.symbol ?? "no symbol"}, but this is the chart of ${this.symbol}.`,
        );
      await calls.import(file);
      await this.load();
    } catch (err) {
      this.set({ notice: err instanceof SyntaxError ? "The file is not valid JSON." : errorMessage(err) });
    }
  };
}

/** Returns the steps of a trail (newest first) that are undone. The last undo or redo of a step counts. */
export function undoneSteps(trail: readonly Change[]): ReadonlySet<number> {
  const last = new Map<number, Change["action"]>();
  for (const t of trail) if (t.reverts && !last.has(t.reverts)) last.set(t.reverts, t.action);
  return new Set([...last].filter(([, action]) => action === "undo").map(([step]) => step));
}

/** A change that is not saved yet. */
interface LocalChange {
  readonly drawing: Drawing | null; // null if it was removed
  readonly base: number; // the version it was made on, or 0
  readonly key: string; // sending it twice with the same key makes one change
  onDone?: (refusal?: Refusal) => void;
}

export interface Refusal {
  words: string;
  stale: boolean; // whether the drawing was changed elsewhere
}

const newKey = (): string => Array.from(crypto.getRandomValues(new Uint32Array(4)), (n) => n.toString(36)).join("");

/** Calls onDone once. Returns false if the change has none. */
function finish(mine: LocalChange, refusal?: Refusal): boolean {
  const { onDone } = mine;
  mine.onDone = undefined;
  onDone?.(refusal);
  return onDone !== undefined;
}

/** A stored change that was not saved. */
interface Unsaved {
  id: string;
  drawing: Drawing | null;
  key?: string;
  base?: number;
}

const draftOf = (symbol: string) => `drawings ${symbol}`;

const unsavedDocs = new Set<Doc>();
const ask = (e: Event) => e.preventDefault();

/** Lets the browser ask before it leaves the page while a document has unsaved changes. */
function confirmLeaving(doc: Doc, on: boolean): void {
  const had = unsavedDocs.size > 0;
  if (on) unsavedDocs.add(doc);
  else unsavedDocs.delete(doc);
  if (unsavedDocs.size > 0 === had) return;
  if (had) globalThis.removeEventListener?.("beforeunload", ask);
  else globalThis.addEventListener?.("beforeunload", ask);
}

const maxDocs = 8;
const docs = new Map<string, Doc>();

/** Returns the document of a symbol. The last few are kept. */
export function docOf(symbol: string): Doc {
  const doc = docs.get(symbol) ?? new Doc(symbol);
  docs.delete(symbol);
  docs.set(symbol, doc);
  const oldest = docs.keys().next().value;
  if (docs.size > maxDocs && oldest !== undefined) docs.delete(oldest);
  return doc;
}
