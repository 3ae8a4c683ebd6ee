import { invalidate } from "./load";

/** Loads again what is shown of a source that was added or whose file has changed, and the list of sources. */
export function sourceChanged(name: string): void {
  for (const what of ["schema", "samples", "distribution"]) invalidate(`${what}:${name}`);
  invalidate("sources");
  invalidate("suggestions");
}
