import { useRef, useState } from "react";
import { api, errorMessage } from "../../api/client";
import { invalidate } from "../../api/load";
import { sourceChanged } from "../../api/sources";
import { Button, IconButton } from "../../ui/Button";
import { Dialog } from "../../ui/Dialog";
import { Menu } from "../../ui/Menu";

const changes = {
  replace: { send: api.replaceUpload, accept: ".csv,.tsv,.parquet,.json,.xlsx,.sqlite,.db,.duckdb" },
  append: { send: api.appendToUpload, accept: ".csv,.tsv,.json,.jsonl,.ndjson" },
};

/** What an owner can do with an uploaded file: replace it, append rows, or delete it. */
export function UploadMenu({ source }: { source: string }) {
  const input = useRef<HTMLInputElement>(null);
  const [change, setChange] = useState<keyof typeof changes>("replace");
  const [status, setStatus] = useState("");
  const [failed, setFailed] = useState("");
  const [deleting, setDeleting] = useState(false);
  const pick = (what: keyof typeof changes) => {
    setChange(what);
    requestAnimationFrame(() => input.current?.click());
  };
  const send = async (file: File) => {
    setFailed("");
    setStatus("Loading");
    try {
      await changes[change].send(source, file);
      setStatus(change === "replace" ? "Replaced" : "Appended");
      sourceChanged(source);
    } catch (err) {
      setStatus("");
      setFailed(errorMessage(err));
    }
  };
  return (
    <>
      <span className="ml-auto flex items-center gap-2 self-center font-normal">
        <span role="status" className="text-xs text-ink-quiet">
          {status}
        </span>
        <Menu
          label={`Change ${source}`}
          align="end"
          groups={[
            {
              items: [
                {
                  label: "Replace",
                  icon: "retry",
                  hint: "Another file under the same name",
                  onSelect: () => pick("replace"),
                },
                {
                  label: "Append rows",
                  icon: "plus",
                  hint: "A file with the same columns",
                  onSelect: () => pick("append"),
                },
              ],
            },
            { items: [{ label: "Delete", icon: "trash", danger: true, onSelect: () => setDeleting(true) }] },
          ]}
          button={(p) => <IconButton icon="dots" small label={`Change ${source}`} {...p} />}
        />
      </span>
      <input
        ref={input}
        type="file"
        hidden
        aria-label={change === "replace" ? `File that replaces ${source}` : `Rows for ${source}`}
        accept={changes[change].accept}
        onChange={(e) => {
          const file = e.target.files?.[0];
          e.target.value = "";
          if (file) void send(file);
        }}
      />
      {failed && (
        <p role="alert" className="w-full text-sm font-normal text-bad">
          {failed}
        </p>
      )}
      {deleting && <Delete source={source} onClose={() => setDeleting(false)} />}
    </>
  );
}

function Delete({ source, onClose }: { source: string; onClose: () => void }) {
  const [error, setError] = useState("");
  const remove = async () => {
    try {
      await api.deleteUpload(source);
    } catch (err) {
      return setError(errorMessage(err));
    }
    onClose();
    invalidate("sources");
  };
  return (
    <Dialog
      title={`Delete ${source}?`}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button look="danger" onClick={() => void remove()}>
            Delete
          </Button>
        </>
      }
    >
      <p className="text-sm font-normal">
        The file is deleted from the server. Answers about it remain, with the rows that were read for them.
      </p>
      {error && (
        <p role="alert" className="mt-2 text-sm font-normal text-bad">
          {error}
        </p>
      )}
    </Dialog>
  );
}
