// Measures the CPU time of the page's main thread per task, as a multiple of a reference job
// in the same run, so that other programs and slow machines do not affect the result.
import assert from "node:assert/strict";
import { launch } from "./harness.js";

/** Does some work and returns the tasks of the page's main thread during it, in ms of CPU time,
 *  longest first. */
export async function tasks(page, work) {
  const cdp = await (await launch()).newBrowserCDPSession();
  const events = [];
  cdp.on("Tracing.dataCollected", (e) => events.push(...e.value));
  const traceConfig = { includedCategories: ["toplevel", "blink.user_timing"] };
  await cdp.send("Tracing.start", { transferMode: "ReportEvents", traceConfig });
  await work();
  await page.evaluate(() => performance.mark("ours")); // the browser has other pages, too
  const done = new Promise((resolve) => cdp.once("Tracing.tracingComplete", resolve));
  await cdp.send("Tracing.end");
  await done;
  await cdp.detach();
  const ours = events.find((e) => e.name === "ours");
  const own = events.filter((e) => e.name.endsWith("RunTask") && e.pid === ours.pid && e.tid === ours.tid);
  return own.map((e) => (e.tdur ?? 0) / 1000).sort((a, b) => b - a);
}

/** Measures a reference job on the page's main thread, in ms of CPU time: laying out a table of
 *  2,000 rows, the median of seven runs. */
export async function measureReference(page) {
  const jobs = 7;
  const costs = await tasks(page, async () => {
    for (let i = 0; i < jobs; i++) await page.evaluate(layOutTable);
  });
  return costs[(jobs - 1) / 2];
}

function layOutTable() {
  const table = document.createElement("table");
  table.style.cssText = "position: absolute; visibility: hidden";
  for (let i = 0; i < 2000; i++) {
    const row = table.insertRow();
    for (const text of [`row ${i}`, String(i * 37), "a cell with some words"]) row.insertCell().textContent = text;
  }
  document.body.append(table);
  table.getBoundingClientRect();
  table.remove();
}

/** Fails unless the fifth longest task costs less than the given multiple of the reference. The
 *  four longer ones may include garbage collection. */
export function assertShort(costs, unit, limit, when) {
  assert.ok(costs.length > 10, `only ${costs.length} tasks were seen`);
  const times = costs.slice(0, 5).map((ms) => (ms / unit).toFixed(2));
  console.log(`${when}: the longest tasks cost ${times} × the reference of ${unit.toFixed(1)} ms`);
  assert.ok(costs[4] < limit * unit, `${when}: tasks of ${times} × the reference; the fifth must stay below ${limit}`);
}
