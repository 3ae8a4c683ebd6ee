// A view looked at by axe, and kept as a picture.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { shot } from "./harness.js";

const axe = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** Fails on what axe calls serious or critical. With `colours`, only those are checked. */
export async function check(page, name, { colours = false } = {}) {
  await shot(page, name);
  // By the debugger's way in: the page's policy lets no script be added.
  if (!(await page.evaluate(() => "axe" in globalThis))) await page.evaluate(axe);
  const found = await page.evaluate((colours) => {
    // axe has no public list of how serious its rules are.
    const minor = globalThis.axe._audit.rules.filter((r) => r.impact === "minor" || r.impact === "moderate");
    const options = colours
      ? { runOnly: ["color-contrast", "link-in-text-block"] }
      : { rules: Object.fromEntries(minor.map((r) => [r.id, { enabled: false }])) };
    return globalThis.axe.run(document, { ...options, resultTypes: ["violations"] });
  }, colours);
  const bad = found.violations.filter((v) => v.impact === "serious" || v.impact === "critical");
  assert.deepEqual(
    bad.map((v) => `${name}: ${v.id}: ${v.nodes.map((n) => `${n.target} ${n.failureSummary}`).join("; ")}`),
    [],
  );
}

/** Checks the page in both themes, one after the other. They differ in colours alone. */
export async function inBoth(page, name, width) {
  for (const theme of ["light", "dark"]) {
    await page.emulateMedia({ colorScheme: theme });
    // A chart draws itself again in its new colours.
    await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
    await page.locator(".chart:not([data-drawn])").waitFor({ state: "detached" });
    await check(page, `${name}-${theme}-${width}`, { colours: theme === "dark" });
  }
  await page.emulateMedia({ colorScheme: "light" });
}
