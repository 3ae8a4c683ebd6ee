import { Suspense, useCallback, useRef, useState, type ReactNode } from "react";
import { api, errorMessage } from "../api/client";
import type { ToolPart } from "../log/conversation";
import { familyOf, useTools } from "../log/tools";
import { lazyComponent } from "../lib/lazy";
import { Boundary } from "../ui/Boundary";
import { Button } from "../ui/Button";
import { Icon } from "../ui/Icon";
import { subject } from "../panes/coder/detail";
import { useCardFocus, useCardKeys } from "./cardkeys";

const Preview = lazyComponent(async () => ({ default: (await import("../panes/coder/Preview")).Preview }));

const actions: Record<string, string> = {
  command: "run this command",
  file_write: "write this file",
  file_edit: "change this file",
  query: "run this statement",
};

/** The name of a tool in words; that of an MCP server's tool is mcp__server__tool. */
function spoken(name: string): string {
  const [, server, tool] = /^mcp__([^_]+)__(.+)$/.exec(name) ?? [];
  return tool ? `${tool.replaceAll("_", " ")} of ${server}` : name.replaceAll("_", " ");
}

const maxReasonLength = 500;

/** A call that waits for approval: a preview of what it would do, and three buttons. It can be approved once the
 *  preview is shown and the buttons no longer move. If the call is approved or declined elsewhere, the event removes
 *  the card. */
export function Approval({ part, conversation }: { part: ToolPart; conversation: string }) {
  const [shown, setShown] = useState(false);
  const onShown = useCallback(() => setShown(true), []);
  const [sent, setSent] = useState(false);
  const [error, setError] = useState("");
  const [declining, setDeclining] = useState(false);
  const [reason, setReason] = useState("");
  const card = useRef<HTMLElement>(null);
  useTools();
  const family = familyOf(part);
  const outside = part.approval?.outside;
  const file = family === "command" ? "" : subject(family, part.input);

  const decide = async (approved: boolean, more: { always?: boolean; reason?: string } = {}) => {
    if (sent || (approved && !shown)) return;
    setSent(true);
    setError("");
    try {
      await api.turn(conversation, {
        approvals: [{ call_id: part.key, approval_id: part.approval?.id, approved, ...more }],
      });
    } catch (err) {
      setError(errorMessage(err));
      setSent(false);
    }
  };
  useCardFocus(card);
  useCardKeys(card, {
    a: () => void decide(true),
    d: () => setDeclining(true),
  });

  return (
    <section
      ref={card}
      tabIndex={-1}
      role="group"
      aria-label="Approval"
      data-card=""
      className="rounded-lg border border-line-strong bg-surface text-sm"
    >
      <header className="flex min-w-0 items-center gap-2 rounded-t-lg border-b bg-warn-soft px-4 py-2">
        <Icon name="key" small className="text-warn" />
        <h3 className="shrink-0 font-medium">Allow it to {actions[family ?? ""] ?? `use ${spoken(part.name)}`}?</h3>
        <span className="min-w-0 truncate font-mono text-xs text-ink-soft">{file}</span>
      </header>
      <div className="space-y-3 px-4 py-3">
        {part.approval?.cost && <p className="text-warn">{part.approval.cost}</p>}
        {outside && (
          <p className="text-ink-soft">
            This acts outside the conversation, which has read text from elsewhere: {outside}. Check that you want
            exactly this.
          </p>
        )}
        <Boundary>
          <Suspense
            fallback={
              <p data-settling="" className="text-ink-quiet">
                Loading.
              </p>
            }
          >
            <Preview call={part.key} family={family} input={part.input} conversation={conversation} onShown={onShown} />
          </Suspense>
        </Boundary>
      </div>
      {declining ? (
        <form
          className="flex flex-wrap items-center gap-2 border-t px-4 py-3"
          onSubmit={(e) => {
            e.preventDefault();
            void decide(false, reason.trim() ? { reason: reason.trim() } : {});
          }}
        >
          <input
            autoFocus
            aria-label="Why not"
            placeholder="Why not? (optional)"
            maxLength={maxReasonLength}
            value={reason}
            onChange={(e) => setReason(e.target.value)}
            onKeyDown={(e) => {
              if (e.key !== "Escape") return;
              e.stopPropagation();
              setDeclining(false);
              card.current?.focus();
            }}
            className="h-9 min-w-full flex-1 rounded-md border bg-page px-3 sm:min-w-48"
          />
          <Button
            onClick={() => {
              setDeclining(false);
              card.current?.focus();
            }}
          >
            Back
          </Button>
          <Button look="primary" type="submit" disabled={sent}>
            Decline
          </Button>
        </form>
      ) : (
        <div className="when-settled flex flex-wrap items-center gap-2 border-t px-4 py-3">
          <Button look="primary" disabled={sent || !shown} aria-keyshortcuts="A" onClick={() => void decide(true)}>
            Allow once <Key>A</Key>
          </Button>
          {!outside && !part.approval?.cost && (
            <Button disabled={sent || !shown} onClick={() => void decide(true, { always: true })}>
              Always in this conversation
            </Button>
          )}
          <Button look="quiet" disabled={sent} aria-keyshortcuts="D" onClick={() => setDeclining(true)}>
            Decline <Key>D</Key>
          </Button>
        </div>
      )}
      {error && (
        <p role="alert" className="border-t px-4 py-2 text-bad">
          {error}
        </p>
      )}
    </section>
  );
}

function Key({ children }: { children: ReactNode }) {
  return (
    <kbd
      aria-hidden="true"
      className="rounded-sm border border-current px-1 font-sans text-xs font-normal opacity-80 max-lg:hidden"
    >
      {children}
    </kbd>
  );
}
