/** Returns a function that converts a UTF-8 byte offset, as in footnotes, to an index of the string. */
export function fromBytes(text: string): (byte: number) => number {
  if (/^[\x00-\x7f]*$/.test(text)) return (b) => Math.min(b, text.length);
  const starts = new Map<number, number>();
  let bytes = 0;
  for (let i = 0; i < text.length;) {
    starts.set(bytes, i);
    const c = text.codePointAt(i)!;
    bytes += c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    i += c > 0xffff ? 2 : 1;
  }
  starts.set(bytes, text.length);
  return (b) => starts.get(b) ?? text.length;
}
