// What the session says about the signed-in user, so that texts can say "you" and name limits.
let me = "";
let limit: number | undefined;

export function setMe(session: { user: string; query_seconds?: number }): void {
  me = session.user;
  limit = session.query_seconds && session.query_seconds * 1000;
}

/** Returns "you" for the signed-in user or an unknown one, and otherwise the name. */
export function youOrName(user: string | undefined): string {
  return !user || user === me ? "you" : user;
}

/** The longest time that a query may take on the server, in milliseconds, if it is known. */
export const queryLimit = (): number | undefined => limit;
