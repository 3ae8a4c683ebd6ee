import { useState } from "react";
import { api } from "../api/client";
import { go, href } from "../lib/router";
import type { Log } from "../log/store";
import { useLog } from "../log/store";
import { IconButton } from "../ui/Button";
import { Menu } from "../ui/Menu";
import { Delete, Rename } from "./dialogs";
import { download } from "../lib/download";

/** The menu of actions on the current conversation. */
export function ConversationMenu({ log }: { log: Log }) {
  const title = useLog(log, (c) => c.title);
  const [dialog, setDialog] = useState<"rename" | "delete" | null>(null);
  const [status, setStatus] = useState("");
  const copy = () =>
    navigator.clipboard.writeText(location.origin + href({ conversation: log.id })).then(
      () => setStatus("Link copied."),
      () => setStatus("The browser did not allow copying."),
    );
  return (
    <>
      <span role="status" className="text-xs text-ink-quiet">
        {status}
      </span>
      <Menu
        label="This conversation"
        align="end"
        groups={[
          {
            items: [
              { label: "Copy link", icon: "link", onSelect: () => void copy() },
              {
                label: "Export as HTML",
                icon: "export",
                hint: "One file, with footnotes",
                onSelect: () => download(api.exportUrl(log.id), title),
              },
              {
                label: "Trace",
                icon: "trace",
                hint: "Every event, with times and costs",
                onSelect: () => go({ conversation: log.id, view: "trace" }),
              },
            ],
          },
          {
            items: [
              { label: "Rename", icon: "edit", onSelect: () => setDialog("rename") },
              { label: "Delete", icon: "trash", danger: true, onSelect: () => setDialog("delete") },
            ],
          },
        ]}
        button={(p) => <IconButton icon="dots" label="This conversation" {...p} />}
      />
      {dialog === "rename" && <Rename id={log.id} title={title} onClose={() => setDialog(null)} />}
      {dialog === "delete" && <Delete id={log.id} title={title} now onClose={() => setDialog(null)} />}
    </>
  );
}
