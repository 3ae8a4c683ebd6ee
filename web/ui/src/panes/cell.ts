// The address of a cell within a result: "3,revenue" is row 3, counted from 1.

interface CellAt {
  row: number; // from 0
  column: string;
}

export function parseCell(at: string | undefined): CellAt | undefined {
  const m = /^([1-9]\d{0,8}),(.+)$/s.exec(at ?? "");
  return m ? { row: Number(m[1]) - 1, column: m[2]! } : undefined;
}

export const cellAddress = (c: CellAt): string => `${c.row + 1},${c.column}`;
