// The logs that are open in this page. While a log is shown, the page follows it: it reads events and deltas from the
// server, and reconnects if the connection is lost. Everything that arrives within a frame is rendered at once. So are
// all events that were stored when the page connected: a part of them shows another page than all of them.
import { useSyncExternalStore } from "react";
import { ApiError, unreachable, errorFrom, errorMessage } from "../api/client";
import { retryFailed } from "../api/load";
import { read, type Message } from "../api/sse";
import { applyDelta, applyEvent, empty, type Conversation } from "./conversation";
import type { Delta, Frame, LogEvent } from "./events";

export type Connection =
  | { state: "off" }
  | { state: "connecting" }
  | { state: "open" }
  | { state: "waiting"; until: number; why: string } // for the next attempt
  | { state: "refused"; status: number; why: string };

/** Thrown when the server's log is shorter than what was read, because it was restored from a backup. */
class Reset extends Error {}

const firstWait = 500;
const longestWait = 15_000;
const longestHold = 3000; // ms until a part of the stored events is shown

/** A conversation that can be followed and subscribed to. */
export class Log {
  private now: Conversation;
  private state: Connection = { state: "off" };
  private loaded = false;
  private queue: Frame[] = [];
  private scheduled = false;
  private stored = 0; // seq of the last stored event, while it is awaited
  private held: ReturnType<typeof setTimeout> | undefined;
  private listeners = new Set<() => void>();
  private followers = 0;
  private abort: AbortController | undefined;
  private wake: (() => void) | undefined;

  constructor(readonly id: string) {
    this.now = empty(id);
  }

  conversation = (): Conversation => this.now;
  connection = (): Connection => this.state;
  /** Reports whether the log has been connected. */
  ready = (): boolean => this.loaded;

  subscribe = (f: () => void): (() => void) => {
    this.listeners.add(f);
    return () => this.listeners.delete(f);
  };

  /** Says which assistant a new conversation was opened with, until its first event arrives. */
  opened(assistant: string): void {
    if (this.now.last === 0) this.now = { ...this.now, assistant };
  }

  /** Reads the log until the returned function is called. */
  follow(): () => void {
    if (this.followers++ === 0) void this.keepReading();
    return () => {
      if (--this.followers === 0) this.abort?.abort();
      this.wake?.();
    };
  }

  /** Reconnects now instead of later. */
  retry = (): void => {
    if (this.state.state === "refused" && this.followers > 0) void this.keepReading();
    this.wake?.();
  };

  /** Adds events and deltas, which are shown with the next animation frame, or when all stored events are there. */
  add(frames: Frame[]): void {
    this.queue.push(...frames);
    if (frames.some((f) => "event" in f && f.event.seq >= this.stored)) this.stored = 0;
    this.schedule();
  }

  private schedule(): void {
    if (this.scheduled || this.stored || !this.queue.length) return;
    this.scheduled = true;
    // A hidden page gets no animation frames, but its log must keep up.
    if (typeof requestAnimationFrame === "function" && !document.hidden) requestAnimationFrame(this.flush);
    else setTimeout(this.flush, 50);
  }

  flush = (): void => {
    this.scheduled = false;
    let next = this.now;
    for (const f of this.queue) next = "event" in f ? applyEvent(next, f.event) : applyDelta(next, f.delta);
    this.queue = [];
    if (next === this.now) return;
    this.now = next;
    this.notify();
  };

  /** Waits for the event with a seq before it shows anything. */
  private hold(seq: number): void {
    this.release();
    if (seq <= this.now.last) return;
    this.stored = seq;
    this.held = setTimeout(this.release, longestHold);
  }

  private release = (): void => {
    clearTimeout(this.held);
    this.stored = 0;
    this.schedule();
  };

  private notify(): void {
    for (const f of this.listeners) f();
  }

  private setConnection(state: Connection): void {
    this.state = state;
    this.notify();
  }

  private async keepReading(): Promise<void> {
    let wait = firstWait;
    while (this.followers > 0) {
      this.setConnection({ state: "connecting" });
      try {
        await this.readOnce(() => (wait = firstWait));
        wait = firstWait; // the server ended a long stream: reconnect
        await this.pause(50);
        continue;
      } catch (err) {
        if (this.followers === 0) break;
        if (err instanceof Reset) {
          this.queue = [];
          this.now = empty(this.id);
          continue;
        }
        if (
          err instanceof ApiError &&
          err.status >= 400 &&
          err.status < 500 &&
          err.status !== 429 &&
          err.status !== 408
        ) {
          this.setConnection({ state: "refused", status: err.status, why: errorMessage(err) });
          return;
        }
        const why = err instanceof ApiError ? err.message : "The connection was lost.";
        const delay = Math.round(wait * (0.75 + Math.random() / 2));
        wait = Math.min(wait * 2, longestWait);
        this.setConnection({ state: "waiting", until: Date.now() + delay, why });
        await this.pause(delay);
      }
    }
    this.setConnection({ state: "off" });
  }

  private async readOnce(connected: () => void): Promise<void> {
    const abort = new AbortController();
    this.abort = abort;
    let res: Response;
    try {
      res = await fetch(`/api/conversations/${encodeURIComponent(this.id)}/events?follow=true&after=${this.now.last}`, {
        headers: { Accept: "text/event-stream" },
        signal: abort.signal,
        cache: "no-store",
      });
    } catch {
      throw new ApiError(0, "unreachable", unreachable());
    }
    if (!res.ok) throw await errorFrom(res);
    connected();
    // The server sends the growing message again from its beginning.
    if (this.now.live) this.now = { ...this.now, live: undefined };
    this.loaded = true;
    this.setConnection({ state: "open" });
    retryFailed();
    this.hold(Number(res.headers.get("X-Log-Last")));
    try {
      await read(res, abort, (messages) => {
        if (messages.some((m) => m.event === "reset")) throw new Reset();
        this.add(messages.flatMap(frame));
      });
    } finally {
      this.release();
    }
  }

  private pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const done = () => {
        clearTimeout(timer);
        this.wake = undefined;
        removeEventListener("online", done);
        resolve();
      };
      const timer = setTimeout(done, ms);
      this.wake = done;
      addEventListener("online", done);
    });
  }
}

function frame(m: Message): Frame[] {
  if (m.event === "delta") return [{ delta: JSON.parse(m.data) as Delta }];
  if (m.event === "error") return [];
  return [{ event: JSON.parse(m.data) as LogEvent }];
}

const maxLogs = 12;
const logs = new Map<string, Log>();

/** Returns the log of a conversation. The last few are kept, so that going back is instant. */
export function logOf(id: string): Log {
  const log = logs.get(id) ?? new Log(id);
  logs.delete(id);
  logs.set(id, log);
  const oldest = logs.keys().next().value;
  if (logs.size > maxLogs && oldest !== undefined) logs.delete(oldest);
  return log;
}

/** Drops the log of a deleted conversation. */
export function forget(id: string): void {
  logs.delete(id);
}

/** Returns a part of a conversation and updates with it. pick must return the identical value for the same state. */
export function useLog<T>(log: Log, pick: (c: Conversation) => T): T {
  return useSyncExternalStore(log.subscribe, () => pick(log.conversation()));
}

export function useConnection(log: Log | undefined): Connection {
  return useSyncExternalStore(log?.subscribe ?? never, log?.connection ?? noConnection);
}

const off: Connection = { state: "off" };
const noConnection = () => off;
const never = () => () => {};

/** Reports whether a conversation does not exist, or belongs to another user. */
export function useMissing(log: Log | undefined): boolean {
  const connection = useConnection(log);
  return connection.state === "refused" && connection.status === 404;
}
