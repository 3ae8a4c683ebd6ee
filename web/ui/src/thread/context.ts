import { createContext, type ReactNode } from "react";
import type { ToolPart } from "../log/conversation";
import type { Note } from "./notes";

/** Opens the footnote of a numeral beside it. */
export const NoteContext = createContext<(note: Note, anchor: HTMLElement) => void>(() => {});

/** The ids of results that have a newer version, with a comma after each. A string,
 *  so that those who read it are drawn anew only when it says something else. */
export const StaleContext = createContext("");

export const isStale = (stale: string, result: string | undefined): boolean =>
  result !== undefined && `,${stale}`.includes(`,${result},`);

/** What a table within an answer is a part of: how many rows the whole result has,
 *  and the way to it. */
export interface Whole {
  rows: number;
  show: () => void;
}

export const WholeContext = createContext<(result: string) => Whole | undefined>(() => undefined);

/** A card for a call that is more than a step: it is always shown. Undefined where
 *  there are none. */
export const CardContext = createContext<((part: ToolPart) => ReactNode) | undefined>(undefined);
