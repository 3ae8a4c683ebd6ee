import { useEffect, useRef, type ReactNode } from "react";
import { IconButton } from "./Button";

interface Props {
  title: string;
  onClose: () => void;
  children: ReactNode;
  /** The buttons at the bottom. */
  actions?: ReactNode;
}

/** A modal dialog. It is open while it is mounted. */
export function Dialog({ title, onClose, children, actions }: Props) {
  const ref = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const el = ref.current!;
    const before = document.activeElement;
    if (!el.open) el.showModal();
    // By default, the browser would focus the close button.
    el.querySelector<HTMLElement>(".body input, .body textarea, footer button, .body button")?.focus();
    return () => {
      el.close();
      // The browser restores the focus only if the dialog is still in the document.
      if (before instanceof HTMLElement && before.isConnected) before.focus({ preventScroll: true });
    };
  }, []);
  return (
    <dialog
      ref={ref}
      aria-label={title}
      onCancel={(e) => {
        e.preventDefault();
        onClose();
      }}
      onPointerDown={(e) => e.target === ref.current && onClose()}
      className="m-auto w-[94vw] max-w-dialog rounded-xl border bg-raised p-0 shadow-over rise"
    >
      <div className="flex max-h-[85dvh] flex-col">
        <header className="flex items-center justify-between border-b py-2 pr-2 pl-5">
          <h2 className="font-serif text-lg font-semibold">{title}</h2>
          <IconButton icon="close" label="Close" onClick={onClose} />
        </header>
        <div
          className="body min-h-0 overflow-y-auto p-5 -outline-offset-2"
          role="group"
          aria-label={title}
          tabIndex={0}
        >
          {children}
        </div>
        {actions && <footer className="flex flex-wrap justify-end gap-2 border-t px-5 py-3">{actions}</footer>}
      </div>
    </dialog>
  );
}
