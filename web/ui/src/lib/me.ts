// Who looks at the page, for sentences that say "you".
let me = "";

export function setMe(user: string): void {
  me = user;
}

/** "you", or the name of somebody else. */
export function who(user: string | undefined): string {
  return !user || user === me ? "you" : user;
}
