import { Suspense, useMemo } from "react";
import { Boundary } from "../ui/Boundary";
import type { Answer as AnswerType } from "../log/conversation";
import { Markdown } from "./markdown/lazy";
import { notesOf } from "./notes";

/** The unformatted text, shown until the renderer is loaded or if it cannot be. */
function Plain({ text }: { text: string }) {
  return <p className="break-words whitespace-pre-wrap">{text}</p>;
}

/** The formatted text of an answer. */
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
