const firstWait = 500;
const longestWait = 10_000;

/** Polls the health check until it succeeds. A response from a proxy does not count. */
export async function serverReady(): Promise<void> {
  for (let wait = firstWait; ; wait = Math.min(wait * 2, longestWait)) {
    try {
      if ((await fetch("/healthz", { cache: "no-store" })).ok) return;
    } catch {
      // Unreachable: try again below.
    }
    await new Promise((resolve) => setTimeout(resolve, wait));
  }
}
