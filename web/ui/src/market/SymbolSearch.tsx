import { useState } from "react";
import { Icon } from "../ui/Icon";
import { Picker } from "../ui/Picker";
import type { SymbolInfo } from "./types";

interface Props {
  symbols: readonly SymbolInfo[];
  now: string;
  onChoose: (symbol: string) => void;
  onClose: () => void;
}

/** The dialog to find a symbol by its letters or name. */
export function SymbolSearch({ symbols, now, onChoose, onClose }: Props) {
  const [query, setQuery] = useState("");
  const words = query
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, " ")
    .trim()
    .split(" ");
  const found = symbols.filter((s) => words.every((w) => `${s.symbol} ${s.name}`.toLowerCase().includes(w)));
  return (
    <Picker
      title="Symbol"
      field="Search symbols"
      list="Symbols"
      placeholder="EURUSD, gold, …"
      query={query}
      onQuery={setQuery}
      items={found}
      keyOf={(s) => s.symbol}
      onPick={(s) => onChoose(s.symbol)}
      onClose={onClose}
      none="No symbols match."
    >
      {(s) => (
        <>
          <span className="w-24 shrink-0 font-semibold">{s.symbol}</span>
          <span className="min-w-0 flex-1 truncate text-ink-quiet">{s.name}</span>
          {s.synthetic && <span className="text-xs text-ink-quiet">synthetic</span>}
          {s.symbol === now && <Icon name="check" small className="text-accent" />}
        </>
      )}
    </Picker>
  );
}
