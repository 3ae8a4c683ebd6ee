import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { gzipSync } from "node:zlib";
import { ask, close, desktop, open, phone, serve, shot } from "./harness.js";

let server;
before(async () => (server = await serve()));
after(async () => {
  await server?.stop();
  await close();
});

test("the first load is under 300 kB, from this host alone", async () => {
  let bytes = 0;
  const p = await open(server.url, { fresh: true });
  await p.getByRole("textbox", { name: "Your question" }).waitFor();
  const sizes = await p.evaluate(() =>
    performance
      .getEntriesByType("resource")
      .concat(performance.getEntriesByType("navigation"))
      .map((e) => [e.name, e.encodedBodySize]),
  );
  for (const [name, size] of sizes) if (!new URL(name).pathname.startsWith("/api/")) bytes += size;
  assert.ok(bytes > 50_000 && bytes < 300_000, `${bytes} bytes: ${JSON.stringify(sizes)}`);
  // The same with gzip, for browsers that accept no Brotli over plain HTTP.
  let gzip = 0;
  for (const [name] of sizes) {
    if (new URL(name).pathname.startsWith("/api/")) continue;
    const res = await fetch(name, { headers: { "Accept-Encoding": "gzip" } });
    gzip += gzipSync(Buffer.from(await res.arrayBuffer())).length; // fetch has unpacked it
    assert.equal(res.headers.get("Content-Encoding"), "gzip", name);
  }
  assert.ok(gzip > 50_000 && gzip < 300_000, `${gzip} bytes in gzip`);
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
