// Handles files that are dropped on the page. By default, the browser would navigate to the file.
import { useEffect, useRef } from "react";

/** Calls onDrop, if it is defined, with files that are dropped anywhere on the page. Only one mounted component should
 *  use it. */
export function useDrop(onDrop: ((files: File[]) => void) | undefined): void {
  const now = useRef(onDrop);
  useEffect(() => void (now.current = onDrop));
  const listens = onDrop !== undefined;
  useEffect(() => {
    if (!listens) return;
    const over = (e: DragEvent) => {
      if (e.dataTransfer?.types.includes("Files")) e.preventDefault();
    };
    const drop = (e: DragEvent) => {
      if (!e.dataTransfer?.files.length) return;
      e.preventDefault();
      now.current?.([...e.dataTransfer.files]);
    };
    addEventListener("dragover", over);
    addEventListener("drop", drop);
    return () => {
      removeEventListener("dragover", over);
      removeEventListener("drop", drop);
    };
  }, [listens]);
}
