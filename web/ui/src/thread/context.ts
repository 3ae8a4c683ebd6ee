import { createContext, type ReactNode } from "react";
import type { ToolPart } from "../log/conversation";
import type { Log } from "../log/store";
import type { Note } from "./notes";

/** The conversation that a text belongs to, in which its questions can be asked. */
export const LogContext = createContext<Log | undefined>(undefined);

/** How to ask the next question where a conversation is shown, and what can be asked there. Without questions, those
 *  about its sources are offered. */
export interface Next {
  ask?: (text: string) => Promise<void>;
  questions?: readonly string[];
  /** Whether the questions are offered only below an answer that used no tool, which is a decline. */
  afterDecline?: boolean;
}

export const NextContext = createContext<Next>({});

/** Opens a footnote beside its number. */
export const NoteContext = createContext<(note: Note, anchor: HTMLElement) => void>(() => {});

/** The ids of results that have a newer version, each followed by a comma. A string, because equal strings do not
 *  render the consumers again. */
export const StaleContext = createContext("");

export const isStale = (stale: string, result: string | undefined): boolean =>
  result !== undefined && `,${stale}`.includes(`,${result},`);

/** The result from which an answer shows some rows as a table. */
export interface FullResult {
  /** The number of rows of the result. */
  rows: number;
  /** Opens the result. */
  show: () => void;
}

export const FullResultContext = createContext<(result: string) => FullResult | undefined>(() => undefined);

/** Returns the card for a call that is always shown, such as a drawing, and not only among the steps. Undefined if the
 *  page has no such cards. */
export const CardContext = createContext<((part: ToolPart) => ReactNode) | undefined>(undefined);
