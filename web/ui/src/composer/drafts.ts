// What was being written, by the name of its field: also after a reload of this tab.
const drafts = new Map<string, string>();
const key = (name: string) => `footnote-draft.${name}`;

export function draft(name: string): string {
  let text = drafts.get(name);
  if (text === undefined) {
    try {
      text = sessionStorage.getItem(key(name)) ?? "";
    } catch {
      text = ""; // the browser keeps nothing
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
    // It then lasts as long as the page.
  }
}

/** Whoever signs in next in this tab may be somebody else. */
export function forgetDrafts(): void {
  drafts.clear();
  try {
    for (const k of Object.keys(sessionStorage)) if (k.startsWith(key(""))) sessionStorage.removeItem(k);
  } catch {
    // Nothing was kept.
  }
}
