// What the page tells the server about the statements of a call, for the audit.
import { outcomeOf, type Outcome, type Whole } from "./cells";

interface Tried {
  sql: string;
  outcome: Outcome;
  row_count?: number;
}

// The server accepts 50 statements and 400,000 bytes; a UTF-16 unit has at most 3.
const maxTried = 20;
const maxCharacters = 100_000;

/** Lists statements with their outcomes. Only the newest are kept when there are too many. */
export class Statements {
  private list: Tried[] = [];

  /** Runs a statement and notes what became of it. */
  async run(sql: string, query: (sql: string) => Promise<Whole>): Promise<Whole> {
    try {
      const whole = await query(sql);
      this.note({ sql, outcome: "executed", row_count: whole.rowCount });
      return whole;
    } catch (err) {
      this.note({ sql, outcome: outcomeOf(err) });
      throw err;
    }
  }

  all(): Tried[] {
    return this.list;
  }

  private note(tried: Tried): void {
    if (!tried.sql) return; // the server refuses an empty one
    this.list = [...this.list, tried].slice(-maxTried);
    while (this.list.length > 1 && this.list.reduce((n, t) => n + t.sql.length, 0) > maxCharacters) this.list.shift();
  }
}
