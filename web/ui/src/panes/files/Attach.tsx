import { useRef, useState } from "react";
import { api, errorMessage } from "../../api/client";
import { sourceChanged } from "../../api/sources";
import { chip } from "../../composer/Composer";
import { Icon } from "../../ui/Icon";
import { Menu } from "../../ui/Menu";
import type { AttachProps } from "../slots";
import { useDrop } from "./drop";
import { addFiles, readable } from "./store";

/** The menu to add a file: open it in this browser, where its rows stay, or upload it to the server. Files that are
 *  dropped on the page are opened in the browser. */
export function Attach({ session, onLocal, onUploaded }: AttachProps) {
  const input = useRef<HTMLInputElement>(null);
  const [upload, setUpload] = useState(false);
  const [status, setStatus] = useState("");

  const open = async (files: File[]) => {
    const some = files.filter((f) => readable.test(f.name));
    if (!some.length) return setStatus(files.length ? "You can open CSV, TSV, Excel, Parquet and JSON files." : "");
    setStatus("");
    onLocal?.();
    await addFiles(some);
  };
  const send = async (file: File | undefined) => {
    if (!file) return;
    setStatus("Loading");
    try {
      const s = await api.upload(file);
      onUploaded?.(s.name);
      sourceChanged(s.name);
      setStatus(`${s.name} is ready`);
    } catch (err) {
      setStatus(errorMessage(err));
    }
  };
  useDrop((files) => void open(files));

  const pick = (toServer: boolean) => {
    setUpload(toServer);
    requestAnimationFrame(() => input.current?.click());
  };
  return (
    <>
      <Menu
        label="Add file"
        side="above"
        groups={[
          {
            title: "Ask about a file",
            items: [
              {
                label: "Open in this browser",
                hint: "Its rows stay on this computer",
                icon: "file",
                onSelect: () => pick(false),
              },
              {
                label: "Upload to the server",
                hint: "Becomes one of your sources",
                icon: "export",
                disabled: session.features.uploads ? undefined : "Uploads are turned off on this server.",
                onSelect: () => pick(true),
              },
            ],
          },
        ]}
        button={(p) => (
          <button type="button" {...p} className={`${chip} shrink-0 border-transparent`}>
            <Icon name="file" small />
            <span className="max-sm:sr-only">Add file</span>
          </button>
        )}
      />
      <input
        ref={input}
        type="file"
        hidden
        multiple={!upload}
        aria-label={upload ? "File to upload" : "File to open"}
        accept={
          upload
            ? ".csv,.tsv,.parquet,.json,.xlsx,.sqlite,.db,.duckdb"
            : ".csv,.tsv,.txt,.parquet,.json,.jsonl,.ndjson,.xlsx"
        }
        onChange={(e) => {
          const files = [...(e.target.files ?? [])];
          e.target.value = "";
          void (upload ? send(files[0]) : open(files));
        }}
      />
      <span role="status" className="min-w-0 truncate text-xs text-ink-quiet">
        {status}
      </span>
    </>
  );
}
