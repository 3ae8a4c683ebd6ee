// How often something was drawn: tests hold that what is finished is left alone.
// In the built app this is nothing.

export const renders = new Map<string, number>();

export function counted(name: string): void {
  if (import.meta.env.MODE === "test") renders.set(name, (renders.get(name) ?? 0) + 1);
}
