import { useEffect, type ReactNode } from "react";
import { go } from "../lib/router";
import { Button } from "./Button";

interface Props {
  title: string;
  /** What happened. */
  children: ReactNode;
  /** Another way on, besides a new question. */
  action?: ReactNode;
}

/** The content of a page whose address leads nowhere. */
export function NotFound({ title, children, action }: Props) {
  useEffect(() => {
    document.title = `${title} · Footnote`;
    return () => void (document.title = "Footnote");
  }, [title]);
  return (
    <div className="scroll min-h-0 flex-1">
      <div className="mx-auto w-full max-w-thread px-5 pt-[14dvh] pb-8">
        <h1 className="font-serif text-2xl font-medium tracking-tight text-balance">{title}</h1>
        <p className="mt-2 mb-6 wrap-anywhere text-ink-soft">{children}</p>
        <div className="flex flex-wrap gap-2">
          <Button look="primary" icon="plus" onClick={() => go({})}>
            Ask a new question
          </Button>
          {action}
        </div>
      </div>
    </div>
  );
}
