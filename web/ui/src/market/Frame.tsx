// The layout of the chart page: chat, chart and list of drawings side by side. On a narrow screen, the chat or the list
// covers the chart.
import { useEffect, useRef, type ReactNode } from "react";
import { useWide } from "../lib/media";
import { usePrefs } from "./prefs";
import { ChatEdge } from "./ChatEdge";

interface Panel {
  children: ReactNode;
  onClose: () => void;
}

interface Props {
  top: ReactNode;
  chat?: Panel;
  list?: Panel;
  children: ReactNode;
}

export function Frame({ top, chat, list, children }: Props) {
  const wide = useWide();
  const { share } = usePrefs();
  return (
    <div className="flex min-w-0 flex-1">
      {wide && chat && <ChatEdge share={share}>{chat.children}</ChatEdge>}
      <main
        className={`flex min-w-0 flex-1 flex-col bg-surface ${
          list ? "lg:min-w-(--chart-and-list-min)" : "lg:min-w-(--chart-min)"
        }`}
        inert={!wide && Boolean(chat ?? list)}
      >
        {top}
        <div className="flex min-h-0 flex-1 max-md:flex-col-reverse">
          {children}
          {wide && list && (
            <aside aria-label="Drawings" className="flex w-(--side) shrink-0 flex-col border-l">
              {list.children}
            </aside>
          )}
        </div>
      </main>
      {!wide && chat && <Sheet label="Chat" {...chat} />}
      {!wide && list && !chat && <Sheet label="Drawings" {...list} />}
    </div>
  );
}

const textFields = "input, textarea, select";

/** A panel that covers the chart. It gets the focus and returns it when it closes. Escape closes it, except in a text
 *  field. */
function Sheet({ label, onClose, children }: Panel & { label: string }) {
  const ref = useRef<HTMLElement>(null);
  useEffect(() => {
    const before = document.activeElement;
    ref.current!.focus({ preventScroll: true });
    return () => {
      if (before instanceof HTMLElement && before.isConnected) before.focus({ preventScroll: true });
    };
  }, []);
  return (
    <section
      ref={ref}
      aria-label={label}
      tabIndex={-1}
      className="fixed inset-0 z-20 flex flex-col bg-surface outline-none"
      onKeyDown={(e) => {
        if (
          e.key === "Escape" &&
          !(e.target as Element).matches(textFields) &&
          !document.querySelector(":popover-open, dialog[open]")
        )
          onClose();
      }}
    >
      {children}
    </section>
  );
}
