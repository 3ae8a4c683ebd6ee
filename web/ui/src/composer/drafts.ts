// Unsent questions, by the name of their field. They survive a reload of the tab.
const drafts = new Map<string, string>();
const key = (name: string) => `footnote-draft.${name}`;

export function draft(name: string): string {
  let text = drafts.get(name);
  if (text === undefined) {
    try {
      text = sessionStorage.getItem(key(name)) ?? "";
    } catch {
      text = ""; // storage is disabled
    }
  }
  return text;
}

export function keepDraft(name: string, text: string): void {
  drafts.set(name, text);
  try {
    if (text) sessionStorage.setItem(key(name), text);
    else sessionStorage.removeItem(key(name));
  } catch {
    // Storage is disabled: the draft is lost with the page.
  }
}

/** Deletes all drafts, because the next person to sign in may be a different one. */
export function forgetDrafts(): void {
  drafts.clear();
  try {
    for (const k of Object.keys(sessionStorage)) if (k.startsWith(key(""))) sessionStorage.removeItem(k);
  } catch {
    // Storage is disabled: there is nothing to delete.
  }
}
