import { useRef } from "react";
import { chip } from "../../composer/Composer";
import { Icon } from "../../ui/Icon";
import { addFiles } from "./store";

/** A button that opens files in this browser. */
export function OpenFile({ className = `${chip} border-transparent` }: { className?: string }) {
  const input = useRef<HTMLInputElement>(null);
  return (
    <>
      <button type="button" className={className} onClick={() => input.current?.click()}>
        <Icon name="plus" small />
        Open a file
      </button>
      <input
        ref={input}
        type="file"
        hidden
        multiple
        aria-label="File to open"
        accept=".csv,.tsv,.txt,.parquet,.json,.jsonl,.ndjson,.xlsx"
        onChange={(e) => {
          const some = [...(e.target.files ?? [])];
          e.target.value = "";
          void addFiles(some);
        }}
      />
    </>
  );
}
