// Measures how soon the start page is usable: on loopback, and on a network and a processor as slow as those of the
// DevTools' preset "Fast 3G" with "4× slowdown". Prints the median, fastest and slowest of several visits, in ms.
import { close, desktop, launch, serve } from "./harness.js";

const visits = Number(process.argv[2] ?? 7);
const kbit = 1024 / 8;

async function slow(page) {
  const cdp = await page.context().newCDPSession(page);
  await cdp.send("Network.enable");
  const network = { latency: 562.5, downloadThroughput: 0.9 * 1.6 * 1024 * kbit, uploadThroughput: 0.9 * 750 * kbit };
  await cdp.send("Network.emulateNetworkConditions", { offline: false, ...network });
  await cdp.send("Emulation.setCPUThrottlingRate", { rate: 4 });
}

/** Notes when the field for questions is there and has the focus. */
function watch() {
  const look = () => {
    if (document.activeElement?.id === "composer") globalThis.usable = performance.now();
    else requestAnimationFrame(look);
  };
  look();
}

/** Visits the start page with an empty cache. Returns when a question can be typed, and when a question that was typed
 *  at once is shown as asked. */
async function visit(url, prepare) {
  const context = await (await launch()).newContext({ viewport: desktop });
  const page = await context.newPage();
  await prepare(page);
  await page.addInitScript(watch);
  await page.goto(url, { waitUntil: "commit" });
  await page.waitForFunction(() => globalThis.usable);
  await page.keyboard.insertText("Revenue by month");
  await page.keyboard.press("Enter");
  await page.getByRole("log").getByText("Revenue by month").first().waitFor();
  const times = await page.evaluate(() => [globalThis.usable, performance.now()]);
  await context.close();
  return times;
}

function print(name, times) {
  const sorted = times.toSorted((a, b) => a - b).map(Math.round);
  console.log(`${name}: ${sorted[Math.floor(sorted.length / 2)]} (${sorted[0]} to ${sorted.at(-1)})`);
}

const server = await serve();
try {
  for (const [where, prepare] of Object.entries({ "on loopback": () => {}, "on Fast 3G, CPU 4× slower": slow })) {
    const all = [];
    for (let i = 0; i < visits; i++) all.push(await visit(server.url, prepare));
    print(`${where}, a question can be typed`, all.map((t) => t[0])); // prettier-ignore
    print(`${where}, a question is asked`, all.map((t) => t[1])); // prettier-ignore
  }
} finally {
  await close();
  await server.stop();
}
