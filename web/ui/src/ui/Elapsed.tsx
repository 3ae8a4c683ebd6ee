import { useEffect, useState, type ReactNode } from "react";
import { duration } from "../lib/format";

const quietFor = 2000; // a wait this short needs no clock

/** Returns the time since a moment once it is worth telling, updated every second, or undefined. */
export function useElapsed(since: number | undefined): number | undefined {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    if (since === undefined) return;
    const timer = setInterval(() => setNow(Date.now()), 1000);
    return () => clearInterval(timer);
  }, [since]);
  const ms = since === undefined ? 0 : now - since;
  return ms >= quietFor ? Math.floor(ms / 1000) * 1000 : undefined;
}

/** How long something has been running, and how long it may: "12 s of at most 30 s". */
export function Elapsed({ since, limit, lead }: { since?: number; limit?: number; lead?: string }): ReactNode {
  const ms = useElapsed(since);
  if (ms === undefined) return null;
  const whole = (n: number) => duration(n).replace(".0", "");
  return (
    <>
      {lead}
      <span className="tabular" role="timer">
        {whole(ms)}
        {limit ? ` of at most ${whole(limit)}` : ""}
      </span>
    </>
  );
}
