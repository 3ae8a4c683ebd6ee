// The logs that are open in this page. One of them is followed: its events and
// deltas are read from the server for as long as it is shown, through lost
// connections. What comes within a frame is drawn once.
import { useSyncExternalStore } from "react";
import { ApiError, refusal, sentence } from "../api/client";
import { retryFailed } from "../api/load";
import { read, type Message } from "../api/sse";
import { applyDelta, applyEvent, empty, type Conversation } from "./conversation";
import type { Delta, Frame, LogEvent } from "./events";

export type Line =
  | { state: "off" }
  | { state: "connecting" }
  | { state: "open" }
  | { state: "waiting"; until: number; why: string } // for the next attempt
  | { state: "refused"; status: number; why: string };

/** The server's log ends before what was read here, since it was restored from a backup: all is read anew. */
class Reset extends Error {}

const firstWait = 500;
const longestWait = 15_000;

/** A conversation that can be followed and subscribed to. */
export class Log {
  private now: Conversation;
  private where: Line = { state: "off" };
  private loaded = false;
  private queue: Frame[] = [];
  private scheduled = false;
  private listeners = new Set<() => void>();
  private followers = 0;
  private abort: AbortController | undefined;
  private wake: (() => void) | undefined;

  constructor(readonly id: string) {
    this.now = empty(id);
  }

  conversation = (): Conversation => this.now;
  line = (): Line => this.where;
  /** Whether what was stored when the page asked has arrived. */
  ready = (): boolean => this.loaded;

  subscribe = (f: () => void): (() => void) => {
    this.listeners.add(f);
    return () => this.listeners.delete(f);
  };

  /** Reads the log until the returned function is called. */
  follow(): () => void {
    if (this.followers++ === 0) void this.keepReading();
    return () => {
      if (--this.followers === 0) this.abort?.abort();
      this.wake?.();
    };
  }

  /** Tries again now instead of later. */
  retry = (): void => {
    if (this.where.state === "refused" && this.followers > 0) void this.keepReading();
    this.wake?.();
  };

  /** Adds frames; they are shown with the next picture. */
  add(frames: Frame[]): void {
    this.queue.push(...frames);
    if (this.scheduled) return;
    this.scheduled = true;
    // A hidden page draws nothing, but its log must not fall behind.
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
    this.tell();
  };

  private tell(): void {
    for (const f of this.listeners) f();
  }

  private set(line: Line): void {
    this.where = line;
    this.tell();
  }

  private async keepReading(): Promise<void> {
    let wait = firstWait;
    while (this.followers > 0) {
      this.set({ state: "connecting" });
      try {
        await this.readOnce(() => (wait = firstWait));
        wait = firstWait; // the server ended a long stream: simply go on
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
          this.set({ state: "refused", status: err.status, why: sentence(err) });
          return;
        }
        const why = err instanceof ApiError ? err.message : "The connection was lost.";
        const delay = Math.round(wait * (0.75 + Math.random() / 2));
        wait = Math.min(wait * 2, longestWait);
        this.set({ state: "waiting", until: Date.now() + delay, why });
        await this.pause(delay);
      }
    }
    this.set({ state: "off" });
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
      throw new ApiError(0, "unreachable", "The server does not answer.");
    }
    if (!res.ok) throw await refusal(res);
    connected();
    // What was growing is said again from its beginning.
    if (this.now.live) this.now = { ...this.now, live: undefined };
    this.loaded = true;
    this.set({ state: "open" });
    retryFailed();
    await read(res, abort, (messages) => {
      if (messages.some((m) => m.event === "reset")) throw new Reset();
      this.add(messages.flatMap(frame));
    });
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

const kept = 12;
const logs = new Map<string, Log>();

/** The log of a conversation; the last few stay, so that going back is instant. */
export function logOf(id: string): Log {
  const log = logs.get(id) ?? new Log(id);
  logs.delete(id);
  logs.set(id, log);
  const oldest = logs.keys().next().value;
  if (logs.size > kept && oldest !== undefined) logs.delete(oldest);
  return log;
}

/** Forgets a conversation that was deleted. */
export function forget(id: string): void {
  logs.delete(id);
}

/** A part of a conversation. Pick must return the same thing for the same state. */
export function useLog<T>(log: Log, pick: (c: Conversation) => T): T {
  return useSyncExternalStore(log.subscribe, () => pick(log.conversation()));
}

export function useLine(log: Log): Line {
  return useSyncExternalStore(log.subscribe, log.line);
}
