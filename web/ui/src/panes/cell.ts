// The address of a cell in a result, such as "3,revenue". Rows count from 1 in the address.

interface CellAt {
  row: number; // from 0
  column: string;
}

export function parseCell(at: string | undefined): CellAt | undefined {
  const m = /^([1-9]\d{0,8}),(.+)$/s.exec(at ?? "");
  return m ? { row: Number(m[1]) - 1, column: m[2]! } : undefined;
}

export const cellAddress = (c: CellAt): string => `${c.row + 1},${c.column}`;
