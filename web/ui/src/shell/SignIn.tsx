import { useState } from "react";
import { api, ApiError, errorMessage } from "../api/client";
import { Button } from "../ui/Button";
import { HomeLink } from "../ui/HomeLink";

/** The form for the API key. The server then sets a session cookie that scripts cannot read. */
export function SignIn({ again, onDone }: { again: boolean; onDone: () => void }) {
  const [key, setKey] = useState("");
  const [error, setError] = useState("");
  const [busy, setBusy] = useState(false);
  const send = async () => {
    setBusy(true);
    setError("");
    try {
      await api.signIn(key.trim());
      onDone();
    } catch (err) {
      setError(err instanceof ApiError && err.status === 401 ? "That key isn't valid." : errorMessage(err));
      setBusy(false);
    }
  };
  return (
    <main className="flex h-full items-center justify-center p-5">
      <form
        className="w-full max-w-drawer"
        onSubmit={(e) => {
          e.preventDefault();
          if (key.trim()) void send();
        }}
      >
        <div className="mb-4 flex">
          <HomeLink />
        </div>
        <h1 className="font-serif text-xl font-semibold">Sign in to Footnote</h1>
        {again && (
          <p role="status" className="my-3 rounded-md bg-warn-soft px-3 py-2 text-sm text-warn">
            Your session has ended, or your key was revoked. Sign in to continue where you left off.
          </p>
        )}
        <p className="mt-1 text-sm text-ink-soft">Enter the API key from your administrator.</p>
        <label className="mt-5 block text-sm font-medium">
          API key
          <input
            type="password"
            autoFocus
            autoComplete="current-password"
            value={key}
            onChange={(e) => setKey(e.target.value)}
            aria-invalid={error !== ""}
            aria-describedby="sign-in-error"
            className="mt-1 block h-10 w-full rounded-md border bg-surface px-3 font-mono text-base font-normal"
          />
        </label>
        <p id="sign-in-error" role="alert" className="mt-1 min-h-5 text-sm text-bad">
          {error}
        </p>
        <Button look="primary" type="submit" disabled={busy || !key.trim()} className="mt-2 w-full">
          {busy ? "Signing in" : "Sign in"}
        </Button>
      </form>
    </main>
  );
}
