/** Returns the questions that an answer offers: the list after "You could ask:". */
export function offeredQuestions(text: string): readonly string[] {
  const [, list = ""] = text.split(/^You could ask:\n+(?=- )/m, 2);
  const end = list.search(/^(?!- )/m);
  return (end < 0 ? list : list.slice(0, end))
    .split("\n")
    .filter(Boolean)
    .map((l) => l.slice(2).trim());
}
