import assert from "node:assert/strict";
import { once } from "node:events";
import http from "node:http";
import { after, before, test } from "node:test";
import { ask, close, desktop, launch, open, phone, serve, shot } from "./harness.js";

let server;
before(async () => (server = await serve()));
after(async () => {
  await server?.stop();
  await close();
});

/** Returns the bytes of a file in gzip, for browsers that accept no Brotli over plain HTTP. */
async function gzipped(url) {
  const [res] = await once(http.get(url, { headers: { "Accept-Encoding": "gzip" } }), "response");
  assert.equal(res.headers["content-encoding"], "gzip", url);
  let bytes = 0;
  for await (const part of res) bytes += part.length;
  return bytes;
}

test("a question can be typed after four requests and 110 kB in gzip", async () => {
  const context = await (await launch()).newContext({ viewport: desktop, locale: "en-US" });
  await context.addInitScript(() => {
    const observer = new MutationObserver(() => {
      if (!document.getElementById("composer")) return;
      observer.disconnect();
      globalThis.usable = performance.now();
    });
    observer.observe(document, { childList: true, subtree: true });
  });
  const p = await open(server.url, { context });
  await p.getByRole("textbox", { name: "Your question" }).waitFor();
  const before = await p.evaluate(() =>
    performance
      .getEntriesByType("navigation")
      .concat(performance.getEntriesByType("resource"))
      .filter((e) => e.startTime < globalThis.usable && !e.name.endsWith("/favicon.svg"))
      .map((e) => ({ url: e.name, bytes: e.encodedBodySize })),
  );
  const list = JSON.stringify(before);
  assert.ok(before.length > 2 && before.length <= 4, `${before.length} requests: ${list}`);
  const brotli = before.reduce((sum, r) => sum + r.bytes, 0);
  assert.ok(brotli > 50_000 && brotli < 105_000, `${brotli} bytes: ${list}`);
  let gzip = 0;
  for (const { url } of before) if (!new URL(url).pathname.startsWith("/api/")) gzip += await gzipped(url);
  assert.ok(gzip > 50_000 && gzip < 110_000, `${gzip} bytes in gzip: ${list}`);
  await p.done();
  await context.close();
});

test("an answer with a chart loads no script above 100 kB in gzip, and all of them are under 230 kB", async () => {
  const p = await open(server.url, { fresh: true });
  await ask(p, "Revenue by month");
  await p.getByRole("tabpanel").locator(".chart[data-drawn]").waitFor();
  const scripts = await p.evaluate(() =>
    performance
      .getEntriesByType("resource")
      .map((e) => e.name)
      .filter((name) => new URL(name).pathname.endsWith(".js")),
  );
  const sizes = await Promise.all([...new Set(scripts)].map(async (url) => [url, await gzipped(url)]));
  const all = sizes.reduce((sum, [, bytes]) => sum + bytes, 0);
  assert.ok(
    Math.max(...sizes.map(([, bytes]) => bytes)) < 100_000 && all < 230_000,
    `${all}: ${JSON.stringify(sizes)}`,
  );
  console.log(`the scripts of an answer with a chart have ${all} bytes in gzip`);
  await p.done();
});

for (const [width, viewport] of Object.entries({ 1440: desktop, 390: phone })) {
  for (const theme of ["light", "dark"]) {
    test(`ask, and see where a number comes from, ${theme} at ${width}`, async () => {
      const p = await open(server.url, { viewport, theme });
      await p.getByRole("button", { name: "Revenue by month", exact: true }).waitFor();
      await shot(p, `home-${theme}-${width}`);
      await ask(p, "Revenue by month");
      await p.getByRole("log").getByText("Revenue by month was highest in").waitFor();
      await p.getByRole("button", { name: /^October 2026 footnote 1/ }).waitFor();
      await p
        .getByRole("table")
        .getByRole("cell", { name: /^November 2025/ })
        .waitFor();
      await shot(p, `answer-${theme}-${width}`);
      await p.getByRole("button", { name: /^€16,682.20 footnote 2/ }).click();
      const popover = p.getByRole("dialog", { name: "Footnote of €16,682.20" });
      await popover.getByText("16,682.2", { exact: false }).first().waitFor();
      await popover.getByText(/SELECT\s+strftime/).waitFor();
      await shot(p, `footnote-${theme}-${width}`);
      await p.keyboard.press("Escape");
      await popover.waitFor({ state: "hidden" });
      await p.done();
    });
  }
}

test("a finished answer shows headline, chart and footnotes without scrolling", async () => {
  const p = await open(server.url);
  await ask(p, "Revenue by month");
  const inView = async (locator) => {
    await locator.waitFor();
    const box = await locator.boundingBox();
    assert.ok(box.y >= 0 && box.y + box.height <= 900, `${locator} stands at ${JSON.stringify(box)}`);
  };
  await inView(p.getByRole("log").getByText("Revenue by month was highest in"));
  await inView(p.getByRole("group", { name: "Footnotes" }));
  await inView(p.getByRole("tabpanel").locator("figure, svg, canvas").first());
  await p.done();
});
