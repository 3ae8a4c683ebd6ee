/** The target of a link in an answer. */
export interface Target {
  href: string; // as the browser would open it
  host: string; // for an email link, the email address
  mail?: boolean;
  /** What may be deceptive about the address. */
  warnings: string[];
}

/** Parses an address as the browser would. Returns undefined unless it is an absolute web or email address. */
export function parseTarget(url: string): Target | undefined {
  if (!/^(https?|mailto):/i.test(url)) return undefined;
  let u: URL;
  try {
    u = new URL(url);
  } catch {
    return undefined;
  }
  if (u.protocol === "mailto:") return { href: u.href, host: decoded(u.pathname), mail: true, warnings: [] };
  if (!u.host) return undefined;
  const warnings: string[] = [];
  if (u.username || u.password) {
    warnings.push(`The text before “@” is not part of the host and was removed.`);
    u.username = u.password = "";
  }
  if (/(^|\.)xn--/.test(u.hostname))
    warnings.push("The host has letters that may look like those of another host. It is shown in its encoded form.");
  if (/^[\d.]+$|^\[/.test(u.hostname)) warnings.push("The host is a number, not a name.");
  if (u.protocol === "http:") warnings.push("The connection is not encrypted.");
  return { href: u.href, host: u.host, warnings };
}

function decoded(s: string): string {
  try {
    return decodeURIComponent(s);
  } catch {
    return s;
  }
}
