// Checks a view with axe, saves a screenshot, and moves about by keyboard.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { shot } from "./harness.js";

const axe = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** Fails on violations that axe rates serious or critical. With `colours`, checks only colours. */
export async function check(page, name, { colours = false } = {}) {
  await shot(page, name);
  // Uses the debugger, because the page's policy allows no added scripts.
  if (!(await page.evaluate(() => "axe" in globalThis))) await page.evaluate(axe);
  const found = await page.evaluate((colours) => {
    // axe has no public list of its rules' severities.
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

/** Checks the page in both themes. They differ only in colours. */
export async function inBoth(page, name, width) {
  for (const theme of ["light", "dark"]) {
    await page.emulateMedia({ colorScheme: theme });
    // The chart redraws in its new colours.
    await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
    await page.locator(".chart:not([data-drawn])").first().waitFor({ state: "detached" });
    await check(page, `${name}-${theme}-${width}`, { colours: theme === "dark" });
  }
  await page.emulateMedia({ colorScheme: "light" });
}

/** Saves a screenshot, and fails on any violation, of any impact. */
export async function clean(page, name) {
  await shot(page, name);
  if (!(await page.evaluate(() => "axe" in globalThis))) await page.evaluate(axe);
  const found = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
  assert.deepEqual(
    found.violations.map((v) => `${name}: ${v.id}: ${v.nodes.map((n) => n.target).join(" ")}`),
    [],
  );
}

/** Presses a key until the focus is on what is wanted. */
export async function reach(page, what, key = "Tab") {
  for (let i = 0; i < 60; i++) {
    if (await what.evaluateAll((all) => all.includes(document.activeElement))) return;
    await page.keyboard.press(key);
  }
  throw new Error(`${key} does not reach ${what}`);
}
