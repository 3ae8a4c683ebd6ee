import { useState } from "react";
import { api, errorMessage } from "../api/client";
import { Button } from "../ui/Button";
import { Popover } from "../ui/Popover";

/** Asks for the reason of a thumb up or down, which was sent before. */
export function FeedbackForm({
  anchor,
  good,
  conversation,
  seq,
  onClose,
}: {
  anchor: HTMLElement;
  good: boolean;
  conversation: string;
  seq: number;
  onClose: () => void;
}) {
  const [words, setWords] = useState("");
  const [error, setError] = useState("");
  const send = async () => {
    try {
      if (words.trim()) await api.feedback(conversation, seq, good, words.trim());
      onClose();
    } catch (err) {
      setError(errorMessage(err));
    }
  };
  return (
    <Popover anchor={anchor} onClose={onClose} label="Why?" className="w-80 p-3">
      <form
        onSubmit={(e) => {
          e.preventDefault();
          void send();
        }}
      >
        <label className="block text-sm font-medium">
          {good ? "What was good about it?" : "What was wrong with it?"}
          <textarea
            autoFocus
            maxLength={2000}
            rows={3}
            value={words}
            onChange={(e) => setWords(e.target.value)}
            onKeyDown={(e) => {
              if (e.key !== "Enter" || e.shiftKey || e.nativeEvent.isComposing) return;
              e.preventDefault();
              void send();
            }}
            className="mt-1 block w-full resize-none rounded-md border bg-surface p-2 text-sm font-normal"
          />
        </label>
        {error && (
          <p role="alert" className="text-sm text-bad">
            {error}
          </p>
        )}
        <div className="mt-2 flex justify-end gap-2">
          <Button look="quiet" onClick={onClose}>
            Skip
          </Button>
          <Button look="primary" type="submit">
            Send
          </Button>
        </div>
      </form>
    </Popover>
  );
}
