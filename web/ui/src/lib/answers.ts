// Waiting for a server that is away.

const firstWait = 500;
const longestWait = 10_000;

/** Resolves once the server answers, and not only what stands before it. */
export async function answers(): Promise<void> {
  for (let wait = firstWait; ; wait = Math.min(wait * 2, longestWait)) {
    try {
      if ((await fetch("/healthz", { cache: "no-store" })).ok) return;
    } catch {
      // Not yet.
    }
    await new Promise((resolve) => setTimeout(resolve, wait));
  }
}
