import { useState, type ReactNode } from "react";
import { Button } from "../../ui/Button";
import { Dialog } from "../../ui/Dialog";
import { Icon } from "../../ui/Icon";
import { target, type Target } from "./target";

/** A link of an answer: its words with the host it leads to. It opens only from the
 *  question that shows the whole address, for words may say anything. */
export function Link({
  url,
  text,
  children,
  apart,
}: {
  url: string;
  text: string;
  children: ReactNode;
  /** The words hold buttons of their own. */ apart?: boolean;
}) {
  const to = target(url);
  const [asks, setAsks] = useState(false);
  if (!to) return <>{children}</>;
  const place = text.trim() === to.host ? undefined : to.host;
  const host = place && (
    <span dir="ltr" className="link-host">
      {shortHost(place)}
    </span>
  );
  return (
    <>
      {apart && children}
      <button type="button" aria-haspopup="dialog" title={to.href} onClick={() => setAsks(true)} className="link">
        {!apart && <bdi>{children}</bdi>}
        {host}
        <span className="sr-only"> (opens another site; asks first)</span>
      </button>
      {asks && <Leave to={to} onClose={() => setAsks(false)} />}
    </>
  );
}

const mostShown = 40;

/** The end of a long host: whom it belongs to stands there. */
const shortHost = (host: string) => (host.length > mostShown ? `…${host.slice(-mostShown)}` : host);

function Leave({ to, onClose }: { to: Target; onClose: () => void }) {
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
            {to.mail ? "Write a mail" : "Open the site"}
          </a>
        </>
      }
    >
      <p className="text-sm text-ink-soft">
        {to.mail ? "The answer has this address:" : "The answer leads to"}{" "}
        {!to.mail && (
          <strong dir="ltr" className="font-semibold wrap-anywhere text-ink">
            {to.host}
          </strong>
        )}
        {!to.mail && ". This is the whole address:"}
      </p>
      <p
        dir="ltr"
        className="mt-2 max-h-48 overflow-auto rounded-sm bg-sunken p-2 font-mono text-sm wrap-anywhere"
        tabIndex={0}
        role="region"
        aria-label="The whole address"
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
