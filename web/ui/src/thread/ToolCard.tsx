import { memo, Suspense, useEffect, useRef, useState } from "react";
import type { ToolPart, ToolState } from "../log/conversation";
import { familyOf, field, labelOf, onFiles, useTools } from "../log/tools";
import { ago, duration, plural, verifiedBy } from "../lib/format";
import { lazyComponent } from "../lib/lazy";
import { Boundary } from "../ui/Boundary";
import { Icon } from "../ui/Icon";
import { outcome, subject } from "../panes/coder/detail";
import { Approval } from "./Approval";
import { Raw } from "./Raw";
import { revealed, useRevealed } from "./reveal";

const CallCard = lazyComponent(() => import("../panes/coder/CallCard"));

const stateNames: Record<ToolState, string> = {
  running: "running",
  waiting: "waiting",
  done: "done",
  failed: "failed",
};

/** A tool call with its input, state and output. */
export const ToolCard = memo(function ToolCard({
  part,
  conversation,
  open: first = false,
}: {
  part: ToolPart;
  conversation: string;
  open?: boolean;
}) {
  useTools();
  const [open, setOpen] = useState(first);
  const head = useRef<HTMLButtonElement>(null);
  const request = useRevealed(part.key);
  useEffect(() => {
    if (!request || !head.current) return;
    setOpen(true);
    head.current.scrollIntoView({ block: "center" });
    head.current.focus({ preventScroll: true });
    revealed(part.key);
  }, [request, part.key]);
  const about = field(part.input, "thought");
  const file = onFiles(part) ? subject(familyOf(part), part.input) : "";
  if (waitsForApproval(part)) return <Approval part={part} conversation={conversation} />;
  return (
    <section className="rounded-md border bg-surface" aria-label={`${labelOf(part)}: ${stateNames[part.state]}`}>
      <button
        ref={head}
        type="button"
        aria-expanded={open}
        onClick={() => setOpen(!open)}
        className="flex min-h-9 w-full items-center gap-2 rounded-md px-3 py-1.5 text-left text-sm hover:bg-hover"
      >
        <State state={part.state} />
        <span className="shrink-0 font-medium">{labelOf(part)}</span>
        <span className={`min-w-0 flex-1 truncate text-ink-quiet ${file ? "font-mono text-xs" : ""}`}>
          {file || about}
        </span>
        <span className="tabular shrink-0 text-xs text-ink-quiet">{facts(part)}</span>
        <Icon name="chevron" small className={`text-ink-quiet transition-transform ${open ? "rotate-90" : ""}`} />
      </button>
      {open && (
        <div className="space-y-2 border-t px-3 py-2 text-sm">
          {onFiles(part) ? (
            <Boundary instead={<Raw part={part} />}>
              <Suspense fallback={<Raw part={part} />}>
                <CallCard part={part} conversation={conversation} />
              </Suspense>
            </Boundary>
          ) : (
            <Raw part={part} />
          )}
        </div>
      )}
    </section>
  );
});

const waitsForApproval = (p: ToolPart) =>
  p.approval !== undefined && p.approval.approved === undefined && p.state === "waiting";

function State({ state }: { state: ToolState }) {
  switch (state) {
    case "running":
      return <Icon name="spinner" small className="turning text-accent" />;
    case "waiting":
      return <Icon name="key" small className="text-warn" />;
    case "failed":
      return <Icon name="alert" small className="text-bad" />;
    case "done":
      return <Icon name="check" small className="text-good" />;
  }
}

function facts(p: ToolPart): string {
  const words: string[] = [];
  if (p.result) words.push(plural(p.result.row_count, "row"));
  if (p.result?.verified) words.push(verifiedBy(p.result.verified));
  if (onFiles(p)) words.push(...outcome(p));
  if (p.approval?.approved === false) words.push("declined");
  if (p.cached) words.push(p.age === undefined ? "cached" : `cached, ${ago(p.age)}`);
  if (p.millis) words.push(duration(p.millis));
  return words.join(" · ");
}
