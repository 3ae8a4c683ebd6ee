import { useState } from "react";
import { go } from "../../lib/router";
import { chooseLocal } from "../../shell/choice";
import { useDrop } from "./drop";
import { addFiles, readable } from "./store";

/** Opens files that are dropped on a conversation about other data, and offers a new conversation about them. */
export function Dropped() {
  const [names, setNames] = useState<string>();
  useDrop((files) => {
    const some = files.filter((f) => readable.test(f.name));
    setNames(some.map((f) => f.name).join(", "));
    if (some.length) void addFiles(some);
  });
  if (names === undefined) return null;
  return (
    <p role="status" className="flex flex-wrap items-baseline gap-x-2 pb-2 text-sm text-ink-soft">
      {!names && "You can open CSV, TSV, Excel, Parquet and JSON files."}
      {names && (
        <>
          <span className="min-w-0 wrap-anywhere">
            {names}: opened in this browser. This conversation is about other data.
          </span>
          <button
            type="button"
            className="rounded-sm font-medium text-accent underline underline-offset-2"
            onClick={() => {
              chooseLocal();
              go({});
            }}
          >
            Ask about it
          </button>
        </>
      )}
    </p>
  );
}
