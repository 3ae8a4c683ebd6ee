import { useEffect, useState } from "react";
import { api, errorMessage, type ConsentRequest, type Session } from "../api/client";
import { Button } from "../ui/Button";
import { HomeLink } from "../ui/HomeLink";

/** Asks the person whether a program may act for them. The address has what the program asks for. */
export default function Consent({ session }: { session: Session }) {
  const [asked, setAsked] = useState<ConsentRequest>();
  const [error, setError] = useState("");
  const [busy, setBusy] = useState(false);
  useEffect(() => {
    document.title = "Allow a program · Footnote";
    api.consentRequest(location.search).then(
      (r) => (r.redirect ? location.replace(r.redirect) : setAsked(r)),
      (err) => setError(errorMessage(err)),
    );
  }, []);
  const decide = async (allow: boolean) => {
    setBusy(true);
    setError("");
    try {
      location.assign((await api.decideConsent(location.search, allow)).redirect);
    } catch (err) {
      setError(errorMessage(err));
      setBusy(false);
    }
  };
  const signOut = () => void api.signOut().then(() => location.reload());
  if (!asked && !error) return null;
  const name = asked?.client.name || "A program without a name";
  return (
    <main className="flex h-full overflow-y-auto p-5">
      <div className="m-auto w-full max-w-popover">
        <div className="mb-4 flex">
          <HomeLink />
        </div>
        {asked ? (
          <>
            <h1 className="font-serif text-xl font-semibold break-words">Allow {name} to use Footnote for you?</h1>
            <dl className="mt-4 rounded-md border bg-surface px-4 py-3 text-sm">
              <dt className="text-ink-soft">You are signed in as</dt>
              <dd className="font-medium break-words">
                {session.user} of {session.org}
              </dd>
              <dt className="mt-2 text-ink-soft">The program sends you back to</dt>
              <dd className="font-mono break-all">{asked.to}</dd>
              <dt className="mt-2 text-ink-soft">Its name comes from</dt>
              <dd className="break-all">
                {asked.client.host ? (
                  <span className="font-mono">{asked.client.host}</span>
                ) : (
                  "the program itself; nobody has checked it"
                )}
              </dd>
            </dl>
            <p className="mt-4 text-sm font-medium">If you allow it, the program can, for 90 days:</p>
            <ul className="mt-1 list-disc pl-5 text-sm text-ink-soft">
              <li>ask questions and run read-only queries with your rights, within your limits</li>
              <li>read your stored results and conversations that it names</li>
            </ul>
            <p className="mt-2 text-sm text-ink-soft">
              It does not get your API key. Allow it only if you have just started this from the program. To take it
              back, disconnect there, or ask your administrator.
            </p>
          </>
        ) : (
          <h1 className="font-serif text-xl font-semibold">This request cannot be answered</h1>
        )}
        <p role="alert" className="mt-2 min-h-5 text-sm break-words text-bad">
          {error}
        </p>
        {asked && (
          <div className="mt-2 flex flex-wrap gap-2">
            <Button look="primary" disabled={busy} onClick={() => void decide(true)} className="grow">
              Allow
            </Button>
            <Button disabled={busy} onClick={() => void decide(false)} className="grow">
              Don’t allow
            </Button>
          </div>
        )}
        {session.needs_key && (
          <Button look="quiet" onClick={signOut} className="mt-2 w-full">
            Use another key
          </Button>
        )}
      </div>
    </main>
  );
}
