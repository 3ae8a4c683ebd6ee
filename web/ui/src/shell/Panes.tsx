// A page and, beside or above it, the right pane.
import type { ReactNode } from "react";
import { Splitter, useSplit } from "../ui/Splitter";

interface Props {
  wide: boolean;
  /** What is in the right pane, if it is open. */
  right?: ReactNode;
  children: ReactNode;
}

export function Panes({ wide, right, children }: Props) {
  const [share, setShare] = useSplit();
  return (
    <div className="flex min-w-0 flex-1 print:block">
      <main className="flex min-w-0 flex-1 flex-col print:block" inert={!wide && Boolean(right)}>
        {children}
      </main>
      {right && wide && (
        <section
          aria-label="Result"
          className="flex min-w-(--pane-min) print:hidden bg-surface"
          style={{ width: `${share}%` }}
        >
          <Splitter share={share} onChange={setShare} label="Width of the right pane" />
          <div className="flex min-w-0 flex-1 flex-col">{right}</div>
        </section>
      )}
      {right && !wide && (
        <section aria-label="Result" className="fixed inset-0 z-10 flex flex-col print:hidden bg-surface">
          {right}
        </section>
      )}
    </div>
  );
}
