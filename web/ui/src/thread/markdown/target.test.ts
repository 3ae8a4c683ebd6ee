import { expect, test } from "vitest";
import { parseTarget } from "./target";

test("the host is the one that the browser would connect to", () => {
  for (const [url, host] of [
    ["https://example.org/a?b", "example.org"],
    ["HTTPS://Example.ORG:8443/", "example.org:8443"],
    ["https://bank.example@evil.test/login", "evil.test"],
    ["https://bank.example:pass@evil.test", "evil.test"],
    ["https:\\\\evil.test\\path", "evil.test"],
    ["https:evil.test", "evil.test"],
    ["https://аррӏе.com/", "xn--80ak6aa92e.com"],
    ["https://bank.example。evil.test/", "bank.example.evil.test"],
    ["http://2130706433/", "127.0.0.1"],
    ["mailto:someone@example.org?subject=x", "someone@example.org"],
  ])
    expect(parseTarget(url!)?.host, url).toBe(host);
});

test("deceptive addresses get warnings, and credentials are removed", () => {
  expect(parseTarget("https://bank.example@evil.test/")).toMatchObject({
    href: "https://evil.test/",
    warnings: [expect.stringContaining("@")],
  });
  expect(parseTarget("https://аррӏе.com/")!.warnings).toHaveLength(1);
  expect(parseTarget("http://10.0.0.1/")!.warnings).toHaveLength(2);
  expect(parseTarget("https://example.org/")!.warnings).toEqual([]);
});

test("other addresses are rejected", () => {
  for (const url of [
    "javascript:alert(1)",
    "JaVaScRiPt:alert(1)",
    "data:text/html,x",
    "//evil.test/",
    "/api/session",
    "file:///etc/passwd",
    "blob:https://x/1",
    "vbscript:x",
    "https://",
    "http://[",
    " javascript:alert(1)",
    "ftp://example.org",
  ])
    expect(parseTarget(url), url).toBeUndefined();
});
