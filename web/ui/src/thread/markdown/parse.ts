// Parses Markdown into blocks. A growing text is not parsed from the start each time, because a block is final once the
// next one has begun.
import { fromMarkdown } from "mdast-util-from-markdown";
import { gfmFromMarkdown } from "mdast-util-gfm";
import { gfm } from "micromark-extension-gfm";
import type { RootContent } from "mdast";

export interface Block {
  /** The position in the text from which the node's offsets count. */
  base: number;
  node: RootContent;
}

const options = { extensions: [gfm({ singleTilde: false })], mdastExtensions: [gfmFromMarkdown()] };

export function parse(text: string, base = 0): Block[] {
  return fromMarkdown(text, options).children.map((node) => ({ base, node }));
}

/** Parses a text that only grows. */
export class GrowingParser {
  private final: Block[] = [];
  private done = 0; // the length of the text in the final blocks
  private text = "";

  blocks(text: string): readonly Block[] {
    if (!text.startsWith(this.text)) {
      this.final = [];
      this.done = 0;
    }
    this.text = text;
    const tail = text.slice(this.done);
    const found = parse(repair(tail), this.done);
    if (found.length < 2) return [...this.final, ...found];
    const last = found[found.length - 1]!;
    const cut = last.node.position?.start.offset ?? 0;
    if (cut <= 0 || cut > tail.length) return [...this.final, ...found];
    this.final = [...this.final, ...found.slice(0, -1)];
    this.done += cut;
    const rest = parse(repair(text.slice(this.done)), this.done);
    return [...this.final, ...(rest.length ? rest : [last])];
  }
}

/** Repairs the end of an unfinished text: closes open emphasis, and removes incomplete table rows and links. */
export function repair(text: string): string {
  const fences = text.match(/^ {0,3}(```|~~~)/gm);
  if (fences && fences.length % 2 === 1) return text; // inside a code block
  const from = text.lastIndexOf("\n\n") + 1;
  let tail = text.slice(from);
  // A table needs its delimiter row, and then grows by complete rows.
  const table = /(^|\n)\|[^\n]*(\n\|[\s:|-]*)?$/.exec(tail);
  if (table && !/\n\|[\s:|-]*-[\s:|-]*\n/.test(tail)) tail = tail.slice(0, table.index);
  else if (/\n\|[^\n]*$/.test(tail)) tail = tail.slice(0, tail.lastIndexOf("\n"));
  tail = tail
    .replace(/(^|[^!\\])\[([^\]\n]*)(\]\([^)\n]*)?$/, "$1$2")
    .replace(/(^|\n)([-*+]|\d+[.)]|#{1,6})[ \t]*$/, "$1")
    .replace(/[*_~`]+$/, "");
  if ((tail.match(/`/g)?.length ?? 0) % 2 === 1) tail += "`";
  else {
    if ((tail.match(/\*\*/g)?.length ?? 0) % 2 === 1) tail += "**";
    if ((tail.match(/(^|[\s(])_(?=\S)/g)?.length ?? 0) > (tail.match(/\S_(?=$|[\s).,;:!?])/g)?.length ?? 0))
      tail += "_";
  }
  return text.slice(0, from) + tail;
}
