import { lazy, Suspense, useMemo } from "react";
import type { Answer as AnswerType } from "../log/conversation";
import { notesOf } from "./notes";

const load = () => import("./markdown/Markdown");
const Markdown = lazy(() => load().catch(() => ({ default: Plain })));

/** The text as it was written: until the renderer is there, or where it cannot be had. */
function Plain({ text }: { text: string }) {
  return <p className="break-words whitespace-pre-wrap">{text}</p>;
}

/** Fetches the renderer before it is needed. */
export function preloadMarkdown(): void {
  void load().catch(() => {}); // it is tried again when it is drawn
}

/** The prose of an answer. */
export function Prose({ text, answer, growing }: { text: string; answer?: AnswerType; growing?: boolean }) {
  const notes = useMemo(() => (answer ? notesOf(answer) : undefined), [answer]);
  return (
    <div className="prose" dir="auto">
      <Suspense fallback={<Plain text={text} />}>
        <Markdown text={text} notes={notes} growing={growing} />
      </Suspense>
    </div>
  );
}
