// Counts renders, so that tests can check that finished parts do not render again. Does nothing in the built app.

export const renders = new Map<string, number>();

export function countRender(name: string): void {
  if (import.meta.env.MODE === "test") renders.set(name, (renders.get(name) ?? 0) + 1);
}
