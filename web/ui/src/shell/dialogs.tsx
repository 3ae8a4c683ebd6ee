import { useState } from "react";
import { api, errorMessage } from "../api/client";
import { go } from "../lib/router";
import { forget } from "../log/store";
import { Button } from "../ui/Button";
import { Dialog } from "../ui/Dialog";
import { patch } from "./conversations";

interface Props {
  id: string;
  title: string;
  onClose: () => void;
}

export function Rename({ id, title: old, onClose }: Props) {
  const [title, setTitle] = useState(old);
  const [error, setError] = useState("");
  const save = async () => {
    try {
      await api.rename(id, title.trim());
      patch(id, { title: title.trim() });
      onClose();
    } catch (err) {
      setError(errorMessage(err));
    }
  };
  return (
    <Dialog
      title="Rename"
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button look="primary" disabled={!title.trim()} onClick={() => void save()}>
            Save
          </Button>
        </>
      }
    >
      <form
        onSubmit={(e) => {
          e.preventDefault();
          if (title.trim()) void save();
        }}
      >
        <label className="block text-sm">
          Title
          <input
            autoFocus
            maxLength={200}
            value={title}
            onFocus={(e) => e.target.select()}
            onChange={(e) => setTitle(e.target.value)}
            className="mt-1 block h-10 w-full rounded-md border bg-surface px-3 text-base"
          />
        </label>
        {error && (
          <p role="alert" className="mt-2 text-sm text-bad">
            {error}
          </p>
        )}
      </form>
    </Dialog>
  );
}

export function Delete({ id, title, now, onClose }: Props & { now: boolean }) {
  const [error, setError] = useState("");
  const remove = async () => {
    try {
      await api.remove(id);
      forget(id);
      onClose();
      if (now) go({}, "replace");
      patch(id, null);
    } catch (err) {
      setError(errorMessage(err));
    }
  };
  return (
    <Dialog
      title="Delete this conversation?"
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
      <p className="text-sm">
        This permanently deletes <strong className="font-semibold">{title || "Untitled"}</strong> with its answers,
        results and history.
      </p>
      {error && (
        <p role="alert" className="mt-2 text-sm text-bad">
          {error}
        </p>
      )}
    </Dialog>
  );
}
