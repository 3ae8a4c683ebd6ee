// Files that are dropped on the page. Without somebody who takes them the browser
// would leave the page for the file, and what was being written would be gone.
import { useEffect, useRef } from "react";

/** Takes the files that are dropped anywhere on the page. One component at a time. */
export function useDrop(take: (files: File[]) => void): void {
  const now = useRef(take);
  useEffect(() => void (now.current = take));
  useEffect(() => {
    const over = (e: DragEvent) => {
      if (e.dataTransfer?.types.includes("Files")) e.preventDefault();
    };
    const drop = (e: DragEvent) => {
      if (!e.dataTransfer?.files.length) return;
      e.preventDefault();
      now.current([...e.dataTransfer.files]);
    };
    addEventListener("dragover", over);
    addEventListener("drop", drop);
    return () => {
      removeEventListener("dragover", over);
      removeEventListener("drop", drop);
    };
  }, []);
}
