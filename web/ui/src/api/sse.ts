// Server-sent events over fetch. Unlike EventSource, fetch shows the status of a refused request and can be aborted.

export interface Message {
  id?: string;
  event: string;
  data: string;
}

/** Parses a stream of server-sent events, piece by piece. */
export class Parser {
  private rest = "";
  private id: string | undefined;
  private event = "";
  private data: string[] = [];

  push(piece: string): Message[] {
    const out: Message[] = [];
    const text = this.rest + piece;
    let from = 0;
    for (;;) {
      const end = text.indexOf("\n", from);
      if (end < 0) break;
      const line = text.slice(from, text[end - 1] === "\r" && end > from ? end - 1 : end);
      from = end + 1;
      if (line === "") {
        if (this.data.length) out.push({ id: this.id, event: this.event || "message", data: this.data.join("\n") });
        this.id = undefined;
        this.event = "";
        this.data = [];
      } else {
        this.field(line);
      }
    }
    this.rest = text.slice(from);
    return out;
  }

  private field(line: string): void {
    const colon = line.indexOf(":");
    if (colon === 0) return; // a comment, sent as keep-alive
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + (line[colon + 1] === " " ? 2 : 1));
    if (name === "data") this.data.push(value);
    else if (name === "event") this.event = value;
    else if (name === "id") this.id = value;
  }
}

/** The server sends a comment every 15 s, so a connection that is silent for longer than this is broken. */
const maxSilence = 45_000;

/** Reads a response until it ends. Throws if the connection is silent for too long. */
export async function read(res: Response, abort: AbortController, take: (messages: Message[]) => void): Promise<void> {
  const reader = res.body!.pipeThrough(new TextDecoderStream()).getReader();
  const parser = new Parser();
  let watch: ReturnType<typeof setTimeout> | undefined;
  const alive = () => {
    clearTimeout(watch);
    watch = setTimeout(() => abort.abort(new Error("silent")), maxSilence);
  };
  try {
    for (;;) {
      alive();
      const { done, value } = await reader.read();
      if (done) return;
      const messages = parser.push(value);
      if (messages.length) take(messages);
    }
  } finally {
    clearTimeout(watch);
    reader.cancel().catch(() => {}); // fails if the connection is broken
  }
}
