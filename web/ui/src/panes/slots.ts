// The props of the panes. Each pane has its own folder and is loaded when it is first shown. Panes load rows with
// api/rows.ts.
import type { ReactNode } from "react";
import type { Schema, Session } from "../api/client";
import type { ShownResult, ToolPart } from "../log/conversation";
import type { ChartSpec } from "../log/events";
import type { Log } from "../log/store";
import type { Note } from "../thread/notes";

/** chart/ChartPane: a result as a chart. The server has checked the spec. Without one, the pane chooses a chart from
 *  the columns. */
export interface ChartPaneProps {
  conversation: string;
  result: ShownResult;
  spec?: ChartSpec;
  /** Called with the function that saves the chart as a picture, or with undefined while no chart is shown. */
  onPicture: (save: SavePicture | undefined) => void;
}

/** chart/InlineChart: the chart of a result within an answer. */
export interface InlineChartProps {
  conversation: string;
  result: ShownResult;
  spec?: ChartSpec;
  width: number;
  height: number;
}

/** chart/Suggested: the chart of a result without a spec, as children, if its columns suggest one. */
export interface SuggestedProps {
  conversation: string;
  result: ShownResult;
  children: ReactNode;
}

export type SavePicture = (format: "png" | "svg") => Promise<void>;

/** table/TablePane: the rows of a result. */
export interface TablePaneProps {
  conversation: string;
  result: ShownResult;
}

/** Runs statements on local files in this browser. */
export interface LocalRun {
  schema: Schema;
  /** Whether a file is open. */
  ready: boolean;
  /** Runs an edited statement and returns the id of the new version. */
  run: (sql: string, signal: AbortSignal) => Promise<string>;
}

/** sql/SqlPane: the statement of a result, which can be edited and run again on the server or, with localRun, in this
 *  browser. `earlier` has the previous versions, oldest first. onVersion shows another version. */
export interface SqlPaneProps {
  conversation: string;
  result: ShownResult;
  localRun?: LocalRun;
  earlier: readonly ShownResult[];
  onVersion: (id: string) => void;
}

/** footnote/FootnotePopover: the evidence for a number, shown beside it. `result` is undefined if the footnote is a
 *  formula over several results. */
export interface FootnotePopoverProps {
  note: Note;
  anchor: HTMLElement;
  conversation: string;
  result?: ShownResult;
  onClose: () => void;
}

/** browser/DataBrowser: the sources with their tables and columns. `at` is the open table, as in the address. */
export interface DataBrowserProps {
  at?: string;
  onAt: (at: string | undefined) => void;
}

/** trace/Trace: every event in order. */
export interface TraceProps {
  log: Log;
}

/** coder/CoderPane: files and diffs of the workspace. */
export interface CoderPaneProps {
  log: Log;
  session: Session;
  at?: string;
  onAt: (at: string | undefined) => void;
}

/** coder/CallCard: the content of a card for a tool that works with files. */
export interface CallCardProps {
  part: ToolPart;
  conversation: string;
}

/** menu/CommandMenu: the command menu. It is open while it is mounted. */
export interface CommandMenuProps {
  log?: Log;
  session: Session;
  /** Opens with the list of shortcuts. */
  shortcuts?: boolean;
  onClose: () => void;
  onSettings: () => void;
}

/** files/Attach: the button beside the composer to add files. onLocal is called when a file is opened in this browser,
 *  onUploaded when one was uploaded. */
export interface AttachProps {
  session: Session;
  onLocal?: () => void;
  onUploaded?: (source: string) => void;
}

/** files/LocalFiles: the files that are open in this browser, and which of their cells the model can see. */
export interface LocalFilesProps {
  log?: Log;
  /** Whether the next question is sent with the schema of these files, because the conversation does not have it yet. */
  asked?: boolean;
  /** Whether there is no model. Then only names are sent. */
  offline: boolean;
}
