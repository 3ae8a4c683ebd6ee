import { Suspense, useMemo } from "react";
import { later } from "../lib/later";
import { Boundary } from "../ui/Boundary";
import type { Answer as AnswerType } from "../log/conversation";
import { notesOf } from "./notes";

const Markdown = later(() => import("./markdown/Markdown"));

/** The text as it was written: until the renderer is there, or where it cannot be had. */
function Plain({ text }: { text: string }) {
  return <p className="break-words whitespace-pre-wrap">{text}</p>;
}

/** Fetches the renderer before it is needed. */
export function preloadMarkdown(): void {
  Markdown.preload();
}

/** The prose of an answer. */
export function Prose({ text, answer, growing }: { text: string; answer?: AnswerType; growing?: boolean }) {
  const notes = useMemo(() => (answer ? notesOf(answer) : undefined), [answer]);
  return (
    <div className="prose" dir="auto">
      <Boundary instead={<Plain text={text} />}>
        <Suspense fallback={<Plain text={text} />}>
          <Markdown text={text} notes={notes} growing={growing} />
        </Suspense>
      </Boundary>
    </div>
  );
}
