/** Where a link of an answer leads. */
export interface Target {
  href: string; // as it would be opened
  host: string; // of a mail, its address
  mail?: boolean;
  /** What about the address may deceive. */
  warnings: string[];
}

/** Reads an address as the browser would; undefined for one that is no web or mail
 *  address of its own, such as a script, data, or a path on this server. */
export function target(url: string): Target | undefined {
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
    warnings.push(`The text before “@” is not part of the host. It is left out.`);
    u.username = u.password = "";
  }
  if (/(^|\.)xn--/.test(u.hostname))
    warnings.push(
      "The host has letters of other alphabets, which may look like those of another host. It is shown as it is sent.",
    );
  if (/^[\d.]+$|^\[/.test(u.hostname)) warnings.push("The host is a number, not a name.");
  if (u.protocol === "http:") warnings.push("The site is not encrypted.");
  return { href: u.href, host: u.host, warnings };
}

function decoded(s: string): string {
  try {
    return decodeURIComponent(s);
  } catch {
    return s;
  }
}
