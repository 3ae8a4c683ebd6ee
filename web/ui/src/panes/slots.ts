// What the shell gives to each pane. A pane lives in a folder of its own, is loaded
// when it is first shown, and gets everything through these props; rows come from
// api/rows.ts.
import type { Schema, Session } from "../api/client";
import type { ShownResult, ToolPart } from "../log/conversation";
import type { ChartSpec } from "../log/events";
import type { Log } from "../log/store";
import type { Note } from "../thread/notes";

/** chart/ChartPane: a result as a picture. Spec is one that the server has checked; without
 *  it the pane chooses from the columns. */
export interface ChartPaneProps {
  conversation: string;
  result: ShownResult;
  spec?: ChartSpec;
}

/** table/TablePane: the rows of a result. */
export interface TablePaneProps {
  conversation: string;
  result: ShownResult;
}

/** Where a statement over local files is run again: in this browser. */
export interface Here {
  schema: Schema;
  /** A file is open. */
  ready: boolean;
  /** Gives the id of the new version. */
  run: (sql: string, signal: AbortSignal) => Promise<string>;
}

/** sql/SqlPane: its statement, to be edited and run again, on the server or, with
 *  here, in this browser. Earlier are the versions before this one, oldest first;
 *  onVersion shows another. */
export interface SqlPaneProps {
  conversation: string;
  result: ShownResult;
  here?: Here;
  earlier: readonly ShownResult[];
  onVersion: (id: string) => void;
}

/** footnote/FootnotePopover: what a numeral rests on, beside it. Result is missing
 *  when the footnote is a formula over several. */
export interface FootnotePopoverProps {
  note: Note;
  anchor: HTMLElement;
  conversation: string;
  result?: ShownResult;
  onClose: () => void;
}

/** browser/DataBrowser: tables and columns before asking. At is what is selected,
 *  kept in the address. */
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

/** coder/CallCard: the inside of a card for a tool that works with files. */
export interface CallCardProps {
  part: ToolPart;
  conversation: string;
}

/** menu/CommandMenu: everything by keyboard. It is open as long as it is drawn. */
export interface CommandMenuProps {
  log?: Log;
  session: Session;
  /** It opens with the list of shortcuts. */
  shortcuts?: boolean;
  onClose: () => void;
  onSettings: () => void;
}

/** files/Attach: the button beside the composer that takes files. OnLocal is told
 *  when one was opened in this browser, onUploaded when one became a source. */
export interface AttachProps {
  session: Session;
  onLocal?: () => void;
  onUploaded?: (source: string) => void;
}

/** files/LocalFiles: the files that are open in this browser, and what the model may
 *  see of them. */
export interface LocalFilesProps {
  log?: Log;
  /** Whether the next question tells the model of these files: it is about them, and the
   *  conversation does not know them yet. */
  asked?: boolean;
  /** There is no model: nothing but names is ever sent. */
  offline: boolean;
}
