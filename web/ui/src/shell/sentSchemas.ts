// The schema of the open files that was last sent in each conversation. It is sent again only when it changes.
const sent = new Map<string, string>();

/** Notes that a conversation was sent a schema. */
export function schemaSent(conversation: string, schema: string): void {
  sent.set(conversation, schema);
}

export const sentSchema = (conversation: string): string | undefined => sent.get(conversation);
