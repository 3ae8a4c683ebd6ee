// The name of the signed-in user, so that texts can say "you".
let me = "";

export function setMe(user: string): void {
  me = user;
}

/** Returns "you" for the signed-in user or an unknown one, and otherwise the name. */
export function youOrName(user: string | undefined): string {
  return !user || user === me ? "you" : user;
}
