// The list of statements that a call ran, which the page sends to the server for the audit.
import { outcomeOf, type Outcome, type LocalResult } from "./cells";

interface RunStatement {
  sql: string;
  outcome: Outcome;
  row_count?: number;
}

// The server accepts 50 statements and 400,000 bytes; a UTF-16 unit has at most 3.
const maxStatements = 20;
const maxCharacters = 100_000;

/** A list of statements with their outcomes. If there are too many, only the newest are kept. */
export class Statements {
  private list: RunStatement[] = [];

  /** Runs a statement and records its outcome. */
  async run(sql: string, query: (sql: string) => Promise<LocalResult>): Promise<LocalResult> {
    try {
      const result = await query(sql);
      this.add({ sql, outcome: "executed", row_count: result.rowCount });
      return result;
    } catch (err) {
      this.add({ sql, outcome: outcomeOf(err) });
      throw err;
    }
  }

  all(): RunStatement[] {
    return this.list;
  }

  private add(statement: RunStatement): void {
    if (!statement.sql) return; // the server refuses an empty one
    this.list = [...this.list, statement].slice(-maxStatements);
    while (this.list.length > 1 && this.list.reduce((n, t) => n + t.sql.length, 0) > maxCharacters) this.list.shift();
  }
}
