/** Returns the questions that an answer offers: the list after "You could ask:". */
export function offeredQuestions(text: string): readonly string[] {
  const [, list = ""] = text.split(/^You could ask:\n+(?=- )/m, 2);
  const end = list.search(/^(?!- )/m);
  return (end < 0 ? list : list.slice(0, end))
    .split("\n")
    .filter(Boolean)
    .map((l) => l.slice(2).trim());
}

const words = (text: string) => text.toLowerCase().match(/[\p{L}\p{N}]{4,}/gu) ?? [];

/** Returns the questions that were not asked before. Those that share the most words with the last one come first. */
export function unasked(questions: readonly string[], asked: readonly { text: string }[], last: string): string[] {
  const before = new Set(asked.map((a) => a.text.trim().toLowerCase()));
  const said = new Set(words(last));
  const shared = (q: string) => words(q).filter((w) => said.has(w)).length;
  return questions.filter((q) => !before.has(q.toLowerCase())).sort((a, b) => shared(b) - shared(a));
}
