// A view looked at by axe, and kept as a picture.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { shot } from "./harness.js";

const axe = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** Fails on what axe calls serious or critical. */
export async function check(page, name) {
  await shot(page, name);
  // By the debugger's way in: the page's policy lets no script be added.
  const found = await page.evaluate(`(() => { ${axe}; return axe.run(document, { resultTypes: ["violations"] }); })()`);
  const bad = found.violations.filter((v) => v.impact === "serious" || v.impact === "critical");
  assert.deepEqual(
    bad.map((v) => `${name}: ${v.id}: ${v.nodes.map((n) => `${n.target} ${n.failureSummary}`).join("; ")}`),
    [],
  );
}

/** Looks at what is shown in both themes, one after the other. */
export async function inBoth(page, name, width) {
  for (const theme of ["light", "dark"]) {
    await page.emulateMedia({ colorScheme: theme });
    // A chart draws itself again in its new colours.
    await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
    await page.locator(".chart:not([data-drawn])").waitFor({ state: "detached" });
    await check(page, `${name}-${theme}-${width}`);
  }
  await page.emulateMedia({ colorScheme: "light" });
}
