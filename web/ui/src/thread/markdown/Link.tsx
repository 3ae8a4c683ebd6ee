import { useState, type ReactNode } from "react";
import { Button } from "../../ui/Button";
import { Dialog } from "../../ui/Dialog";
import { Icon } from "../../ui/Icon";
import { parseTarget, type Target } from "./target";

/** A link in an answer: its text and the host. Clicking it first shows the full address in a dialog, because the text
 *  may be misleading. */
export function Link({
  url,
  text,
  children,
  apart,
}: {
  url: string;
  text: string;
  children: ReactNode;
  /** The children contain buttons, so they cannot be inside the link's own button. */
  apart?: boolean;
}) {
  const to = parseTarget(url);
  const [confirming, setConfirming] = useState(false);
  if (!to) return <>{children}</>;
  const host = text.trim() !== to.host && (
    <span dir="ltr" className="link-host">
      {shortHost(to.host)}
    </span>
  );
  return (
    <>
      {apart && children}
      <button type="button" aria-haspopup="dialog" title={to.href} onClick={() => setConfirming(true)} className="link">
        {!apart && <bdi>{children}</bdi>}
        {host}
        <span className="sr-only"> (opens another site; asks first)</span>
      </button>
      {confirming && <ConfirmLeave to={to} onClose={() => setConfirming(false)} />}
    </>
  );
}

const maxHostLength = 40;

/** Shortens a long host to its end, which names the owner. */
const shortHost = (host: string) => (host.length > maxHostLength ? `…${host.slice(-maxHostLength)}` : host);

function ConfirmLeave({ to, onClose }: { to: Target; onClose: () => void }) {
  const [copied, setCopied] = useState("");
  const copy = () =>
    navigator.clipboard.writeText(to.href).then(
      () => setCopied("Copied"),
      () => setCopied("The browser did not allow copying"),
    );
  return (
    <Dialog
      title={to.mail ? "Write to this address?" : "Leave Footnote?"}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>Stay here</Button>
          <Button icon="copy" onClick={() => void copy()}>
            {copied || "Copy the address"}
          </Button>
          <a
            href={to.href}
            target="_blank"
            rel="noopener noreferrer"
            referrerPolicy="no-referrer"
            onClick={onClose}
            className="inline-flex h-9 items-center justify-center gap-2 rounded-md bg-accent px-3 text-sm font-medium whitespace-nowrap text-on-accent hover:bg-accent-strong"
          >
            <Icon name="link" small />
            {to.mail ? "Write an email" : "Open the site"}
          </a>
        </>
      }
    >
      <p className="text-sm text-ink-soft">
        {to.mail ? "The link goes to this address:" : "The link goes to"}{" "}
        {!to.mail && (
          <strong dir="ltr" className="font-semibold wrap-anywhere text-ink">
            {to.host}
          </strong>
        )}
        {!to.mail && ". This is the full address:"}
      </p>
      <p
        dir="ltr"
        className="mt-2 max-h-48 overflow-auto rounded-sm bg-sunken p-2 font-mono text-sm wrap-anywhere"
        tabIndex={0}
        role="region"
        aria-label="The full address"
      >
        {to.href}
      </p>
      <ul className="mt-2 space-y-1 text-sm text-warn">
        {to.warnings.map((w) => (
          <li key={w}>{w}</li>
        ))}
      </ul>
      <p className="mt-2 text-sm text-ink-soft">
        The site’s operator sees this address, including any of your data in it.
      </p>
    </Dialog>
  );
}
