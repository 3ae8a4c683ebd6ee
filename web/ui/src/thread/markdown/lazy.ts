// The renderer of answers, loaded apart from the thread: the first page needs neither.
import { lazyComponent } from "../../lib/lazy";

export const Markdown = lazyComponent(() => import("./Markdown"));
