// The right pane: charts, the table, and the statement that is edited and run again.
import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { after, before, test } from "node:test";
import { inflateRawSync } from "node:zlib";
import { ask, close, desktop, open, phone, serve, serveModel, shot, shots } from "./harness.js";
import { inBoth } from "./look.js";
import { assertShort, tasks, measureReference } from "./tasks.js";

let server;
before(
  async () =>
    (server = await serve({ env: { FOOTNOTE_LIMITS_QUERY_ROWS: "200000", FOOTNOTE_LIMITS_QUERY_BYTES: "67108864" } })),
);
after(async () => {
  await server?.stop();
  await close();
});

/** Returns the chart once it is drawn. */
async function drawn(p) {
  const chart = p.getByRole("tabpanel").locator(".chart[data-drawn]");
  await chart.waitFor();
  return chart;
}

/** Replaces the statement in the editor. */
async function write(p, sql) {
  await p.getByRole("textbox", { name: "SQL" }).click();
  await p.keyboard.press("ControlOrMeta+a");
  await p.keyboard.insertText(sql);
}

/** Returns the files in a zip archive, from its central directory. */
function unzip(data) {
  const files = {};
  let at = data.lastIndexOf(Buffer.from("PK\x05\x06", "latin1"));
  const count = data.readUInt16LE(at + 10);
  at = data.readUInt32LE(at + 16);
  for (let i = 0; i < count; i++) {
    const [method, size, nameLength, extra, comment, offset] = [
      data.readUInt16LE(at + 10),
      data.readUInt32LE(at + 20),
      data.readUInt16LE(at + 28),
      data.readUInt16LE(at + 30),
      data.readUInt16LE(at + 32),
      data.readUInt32LE(at + 42),
    ];
    const name = data.toString("utf8", at + 46, at + 46 + nameLength);
    const start = offset + 30 + data.readUInt16LE(offset + 26) + data.readUInt16LE(offset + 28);
    const packed = data.subarray(start, start + size);
    files[name] = (method === 8 ? inflateRawSync(packed) : packed).toString("utf8");
    at += 46 + nameLength + extra + comment;
  }
  return files;
}

for (const [width, viewport] of Object.entries({ 1440: desktop, 390: phone })) {
  for (const theme of ["light", "dark"]) {
    test(`a series over months is a line, its kind can be changed, ${theme} at ${width}`, async () => {
      const p = await open(server.url, { viewport, theme });
      await ask(p, "Revenue by month");
      if (viewport === phone)
        await p
          .getByRole("log")
          .getByRole("button", { name: /^Revenue by month/ })
          .click();
      const chart = await drawn(p);
      assert.match(
        await chart.getAttribute("aria-label"),
        /Line chart of revenue by month; 18 values from May 2025 to Oct 2026/,
      );
      assert.equal(await p.getByRole("radio", { name: "Line" }).getAttribute("aria-checked"), "true");
      await chart.getByText("Jan 2026", { exact: true }).waitFor();
      await shot(p, `chart-line-${theme}-${width}`);
      await p.getByRole("radio", { name: "Bars" }).click();
      await p.waitForURL(/at=bar/);
      await p.getByRole("tabpanel").locator('.chart[data-drawn][aria-label*="Bar chart"]').waitFor();
      await shot(p, `chart-bars-${theme}-${width}`);
      await p.getByRole("radio", { name: /^Area/ }).click();
      await p.getByRole("tabpanel").locator('.chart[data-drawn][aria-label*="Area chart"]').waitFor();
      // The URL has the choice.
      await p.reload();
      await p.getByRole("tabpanel").locator('.chart[data-drawn][aria-label*="Area chart"]').waitFor();
      // The keyboard reads the values one by one.
      await p.getByRole("tabpanel").locator(".chart").focus();
      await p.keyboard.press("End");
      await p.getByRole("tabpanel").getByRole("status").getByText("16,682.20").waitFor();
      // The month labels do not touch.
      const boxes = await p
        .getByRole("tabpanel")
        .locator(".chart .tick")
        .evaluateAll((all) => all.map((t) => t.getBoundingClientRect()).map((r) => [r.left, r.right]));
      assert.ok(boxes.length >= 2, `${boxes.length} labels`);
      boxes
        .sort((a, b) => a[0] - b[0])
        .reduce((before, now) => (assert.ok(now[0] > before[1], `${before} touches ${now}`), now));
      await p.done();
    });
  }
}

test("a chart is saved as PNG and SVG, from the menu that also has its rows", async () => {
  const p = await open(server.url);
  await ask(p, "Revenue by month");
  await drawn(p);
  for (const [name, check] of [
    ["Image (PNG)", (data) => assert.equal(data.toString("latin1", 1, 4), "PNG")],
    [
      "Vector image (SVG)",
      (data) => assert.match(data.toString("utf8"), /^<svg[\s\S]*Revenue by month[\s\S]*<\/svg>$/),
    ],
  ]) {
    await p.getByRole("button", { name: "Download" }).click();
    const [saved] = await Promise.all([p.waitForEvent("download"), p.getByRole("menuitem", { name }).click()]);
    assert.match(saved.suggestedFilename(), /^revenue-by-month\.(png|svg)$/);
    const data = await readFile(await saved.path());
    assert.ok(data.length > 2000);
    check(data);
  }
  await p.done();
});

test("an answer has its chart at every width, and its place is never empty", async () => {
  for (const viewport of [desktop, { width: 1024, height: 800 }, phone]) {
    const p = await open(server.url, { viewport });
    await ask(p, "Revenue by category");
    const chart = p.getByRole("log").getByRole("region", { name: "Chart: Revenue by category" });
    await chart.locator(".chart[data-drawn] svg").waitFor();
    if (viewport !== phone) await drawn(p);
    // While the next one is drawn, the old one stays.
    await p.evaluate(() => {
      globalThis.least = Infinity;
      const count = () => {
        for (const place of ["[role=tabpanel] .chart", "[role=log] .chart"])
          for (const el of [...document.querySelectorAll(place)].slice(0, 1))
            globalThis.least = Math.min(globalThis.least, el.querySelectorAll("svg").length);
        globalThis.frame = requestAnimationFrame(count);
      };
      count();
    });
    await p.emulateMedia({ colorScheme: "dark" });
    await p.waitForFunction(() =>
      [...document.querySelectorAll(".chart svg")].every(
        (svg) => svg.querySelector("path").getAttribute("fill") !== "rgb(255, 255, 255)",
      ),
    );
    if (viewport === desktop) {
      const pane = p.getByRole("tabpanel");
      await ask(p, "Revenue by month");
      await pane.locator('.chart[data-drawn][aria-label*="Line"]').waitFor();
      await pane.getByRole("radio", { name: "Area" }).click();
      await pane.locator('.chart[data-drawn][aria-label*="Area"]').waitFor();
    }
    const least = await p.evaluate(() => (cancelAnimationFrame(globalThis.frame), globalThis.least));
    assert.ok(least >= 1, "the place of a chart was empty");
    await chart.getByRole("button", { name: "Open the chart Revenue by category" }).click();
    await drawn(p);
    await p.done();
  }
});

/** Points at the mark that the keyboard is on, and returns what is written beside the pointer. */
async function pointed(p, chart) {
  const ring = await chart.locator(".chart-ring").boundingBox();
  await p.mouse.move(ring.x + ring.width / 2 + 2, ring.y + ring.height / 2 + 2);
  const tip = p.getByRole("tabpanel").locator("figure .shadow-over");
  await tip.waitFor();
  return tip.locator("div").allInnerTexts();
}

test("the keyboard and the pointer read the values of every kind of chart", async () => {
  const p = await open(server.url);
  await ask(p, "Revenue by month");
  for (const kind of ["Line", "Bars", "Area", "Points"]) {
    await p.getByRole("radio", { name: kind }).click();
    const chart = await drawn(p);
    await chart.focus();
    await p.keyboard.press("End");
    await p.getByRole("tabpanel").getByRole("status").getByText("Oct 2026: €16,682.20").waitFor();
    const said = await pointed(p, chart);
    assert.equal(said[0], "Oct 2026", kind);
    assert.match(said[1], /^revenue\s*€16,682\.20$/, kind);
    await p.mouse.move(0, 0);
    await p.getByRole("tabpanel").locator("figure .shadow-over").waitFor({ state: "detached" });
  }
  await p.done();
});

test("thousands of points are drawn on a canvas, without long tasks", async () => {
  const p = await open(server.url);
  await ask(p, "How many orders are there?");
  await p.getByRole("tab", { name: "SQL" }).click();
  await p.getByRole("textbox", { name: "SQL" }).getByText("SELECT").waitFor();
  await write(p, "SELECT a.total AS first, b.total AS second FROM orders a CROSS JOIN orders b LIMIT 10000");
  await p.getByRole("button", { name: "Run", exact: true }).click();
  await p.getByRole("button", { name: "Version 2, by you", exact: true }).waitFor();
  const reference = await measureReference(p);
  await p.getByRole("tab", { name: "Chart" }).click();
  const chart = await drawn(p);
  await chart.locator("canvas").waitFor();
  await p.getByRole("radio", { name: "Line" }).click();
  await p.getByRole("tabpanel").locator('.chart[aria-label*="Line chart"]').waitFor();
  const drawing = await tasks(p, async () => {
    await p.getByRole("radio", { name: "Points" }).click();
    await p.getByRole("tabpanel").locator('.chart[aria-label*="Scatter plot"]').waitFor();
    await p.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
  });
  assert.equal(await chart.locator("svg").count(), 0);
  await shot(p, "chart-points-canvas");
  console.log(`the chart of 10,000 points costs ${(drawing[0] / reference).toFixed(2)} × the reference`);
  assert.ok(drawing[0] < 3 * reference, `drawing 10,000 points takes ${drawing[0]} ms`);
  await chart.focus();
  await p.keyboard.press("Home");
  assert.ok((await pointed(p, chart)).length > 1);
  await p.done();
});

test("a saved chart looks as it does on the page", async () => {
  for (const theme of ["light", "dark"]) {
    const p = await open(server.url, { theme });
    await ask(p, "Revenue by month");
    const svg = (await drawn(p)).locator("svg").first();
    const shown = await svg.evaluate((el) => ({
      width: el.clientWidth,
      height: el.clientHeight,
      background: el.querySelector("path").getAttribute("fill"),
      font: el.getAttribute("font-family"),
    }));
    const download = async (name) => {
      await p.getByRole("button", { name: "Download" }).click();
      const [saved] = await Promise.all([p.waitForEvent("download"), p.getByRole("menuitem", { name }).click()]);
      return readFile(await saved.path());
    };
    const png = await download("Image (PNG)");
    assert.equal(png.readUInt32BE(16), 2 * shown.width, "width");
    const title = png.readUInt32BE(20) / 2 - shown.height;
    assert.ok(title > 0 && title < 40, `height, with a title of ${title}`);
    const corner = await p.evaluate(async (data) => {
      const img = await createImageBitmap(
        new Blob([Uint8Array.from(atob(data), (s) => s.charCodeAt(0))], { type: "image/png" }),
      );
      const c = new OffscreenCanvas(1, 1).getContext("2d");
      c.drawImage(img, 0, 0);
      return `rgb(${[...c.getImageData(0, 0, 1, 1).data.slice(0, 3)].join(", ")})`;
    }, png.toString("base64"));
    assert.equal(corner, shown.background);
    assert.ok((await download("Vector image (SVG)")).toString("utf8").includes(shown.font.split(",")[0]));
    await p.done();
  }
});

test("a statement is edited and run again, and quotes of the first version say so", async () => {
  const p = await open(server.url, { allow: [/\/query$/] });
  await ask(p, "Revenue by month");
  await p.getByRole("tab", { name: "SQL" }).click();
  const editor = p.getByRole("textbox", { name: "SQL" });
  await editor.getByText("GROUP BY").waitFor();
  const sql = (await editor.locator(".cm-line").allTextContents()).join("\n");
  assert.match(sql, /^SELECT\n {2}strftime/);
  // An error shows its position.
  await write(p, sql.replace("GROUP BY", "GROUPED BY"));
  await p.getByRole("button", { name: "Run", exact: true }).click();
  await p
    .getByRole("alert")
    .getByText(/Line \d+, column \d+:/)
    .waitFor();
  await p.getByText("changed, the last run failed").waitFor();
  await p.getByText("Rows of version 1, without your changes: the last run failed.").waitFor();
  assert.equal(await p.getByText("not run yet").count(), 0);
  await shot(p, "sql-error");
  // The error stays when another tab is shown meanwhile.
  await p.getByRole("tab", { name: "Table" }).click();
  await p.getByRole("tab", { name: "SQL" }).click();
  await p.getByText("changed, the last run failed").waitFor();
  await p
    .getByRole("alert")
    .getByText(/Line \d+, column \d+:/)
    .waitFor();
  // Completions come from the schema.
  await write(p, "SELECT orders.sta");
  await p.getByRole("listbox").getByText("status").waitFor();
  await p.keyboard.press("Escape");
  await write(p, sql.replace("ORDER BY 1", "HAVING revenue_eur > 10000\nORDER BY 2 DESC"));
  await p.keyboard.press("ControlOrMeta+Enter");
  await p.getByRole("button", { name: "Version 2, by you", exact: true }).waitFor();
  await p.getByRole("button", { name: "Changes since version 1" }).click();
  const changes = p.getByRole("region", { name: "Changes since version 1" });
  await changes.locator('[data-diff="new"]', { hasText: "HAVING revenue_eur > 10000" }).waitFor();
  await changes.locator('[data-diff="gone"]', { hasText: "ORDER BY 1" }).waitFor();
  await shot(p, "sql-changes");
  // The answer and its footnotes are marked.
  const note = p.getByRole("note");
  await note.getByText("You edited this query. The answer above still uses version 1.").waitFor();
  assert.ok((await p.locator(".note-stale").count()) > 2);
  await p.locator(".note-stale").first().click();
  await p
    .getByRole("dialog")
    .getByText(/Version 2, by you, is newer/)
    .waitFor();
  await shot(p, "stale");
  await p.keyboard.press("Escape");
  // The log has all of it, so it survives a reload.
  await p.reload();
  await p.getByRole("button", { name: "Version 2, by you", exact: true, pressed: true }).waitFor();
  await note.getByText("You edited this query. The answer above still uses version 1.").waitFor();
  await p.getByRole("tab", { name: "Table" }).click();
  await p.getByRole("grid").getByRole("gridcell", { name: "16,682.20" }).waitFor();
  await p.getByRole("tab", { name: "Chart" }).click();
  await drawn(p);
  await p.done();
});

test("on a phone a statement is one touch from its answer, and two more from its next version", async () => {
  const p = await open(server.url, { viewport: phone });
  await ask(p, "Revenue by month");
  await p.getByRole("log").getByRole("button", { name: "SQL of Revenue by month" }).click();
  await write(p, "SELECT status, count(*) AS n FROM orders GROUP BY status");
  await p.getByRole("button", { name: /^Run/ }).first().click();
  await p.getByText("version 2, by you").first().waitFor();
  await p.getByRole("gridcell", { name: "delivered" }).waitFor();
  await p.done();
});

test("100,000 rows are scrolled, sorted, filtered and copied", async () => {
  const p = await open(server.url, { permissions: ["clipboard-read", "clipboard-write"] });
  await ask(p, "How many orders are there?");
  await p.getByRole("tab", { name: "SQL" }).click();
  await p.getByRole("textbox", { name: "SQL" }).getByText("SELECT").waitFor();
  await write(
    p,
    "SELECT a.id * 1000 + b.id AS n, a.status, CASE WHEN b.id % 7 = 0 THEN NULL ELSE a.total END AS total FROM orders a CROSS JOIN orders b LIMIT 100000",
  );
  await p.getByRole("button", { name: "Run", exact: true }).click();
  await p.getByRole("button", { name: "Version 2, by you", exact: true }).waitFor();
  await p.getByRole("tab", { name: "Table" }).click();
  const grid = p.getByRole("grid");
  await p.getByText("100,000 rows", { exact: true }).waitFor();
  await grid.getByText("NULL").first().waitFor();
  // Scrolling fast through everything costs little per frame and draws few rows.
  let most = 0;
  const scroll = await tasks(p, async () => {
    most = await grid.evaluate(async (el) => {
      let most = 0;
      for (let i = 0; i < 60; i++) {
        el.scrollTop = (el.scrollHeight * (i + 1)) / 60;
        await new Promise(requestAnimationFrame);
        most = Math.max(most, el.querySelectorAll("[role=row]").length);
      }
      return most;
    });
  });
  assert.ok(most < 120, `${most} rows are drawn`);
  assertShort(scroll, await measureReference(p), 1, "a scroll over 100,000 rows");
  await grid.evaluate((el) => (el.scrollTop = el.scrollHeight));
  await grid.getByRole("rowheader", { name: "100000", exact: true }).waitFor();
  await shot(p, "table-100k");
  // The server sorts all rows: the largest comes first, and the browser has loaded only what was in view.
  const asked = [];
  p.on("request", (r) => r.url().includes("sort=") && asked.push(r.url()));
  await grid.getByRole("button", { name: "n" }).click();
  await p.getByRole("button", { name: /^Sorted by n/ }).waitFor();
  const first = grid.locator('[aria-rowindex="2"] [role=gridcell]').first();
  await p.waitForFunction((el) => /^1,120,172$/.test(el.textContent), await first.elementHandle());
  await first.click();
  await p.keyboard.press("Shift+ArrowDown");
  await p.keyboard.press("ControlOrMeta+c");
  await p.getByText("2 cells copied.").waitFor();
  assert.match(await p.evaluate(() => navigator.clipboard.readText()), /^1120172\n1120171$/);
  assert.equal(asked.length, 1, asked.join("\n"));
  // So it does with filters, which keep the numbers of the rows in the result.
  await p.getByRole("button", { name: "Filter", exact: true }).click();
  await p.getByLabel("Column").selectOption("n");
  await p.getByLabel("Condition").selectOption("is at most");
  await p.getByLabel("Value").fill("many");
  await p.getByText("Enter a number.").waitFor();
  await p.getByLabel("Value").fill("1120100");
  await p.getByRole("button", { name: "Apply" }).click();
  await p.waitForFunction((el) => /^1,120,100$/.test(el.textContent), await first.elementHandle());
  await p.getByText("99,928 of 100,000 rows", { exact: true }).waitFor();
  await p.getByRole("button", { name: "Sorted by n: undo" }).click();
  await p.getByRole("button", { name: "Remove the filter: n is at most 1120100" }).click();
  await p.getByText("100,000 rows", { exact: true }).waitFor();
  await p.done();
});

test("a download says that formulas in it were made harmless", async () => {
  const p = await open(server.url);
  await ask(p, "How many orders are there?");
  await p.getByRole("tab", { name: "SQL" }).click();
  await p.getByRole("textbox", { name: "SQL" }).getByText("SELECT").waitFor();
  await write(p, "SELECT '=1+1' AS a, '-5' AS b");
  await p.getByRole("button", { name: "Run", exact: true }).click();
  await p.getByRole("button", { name: "Version 2, by you", exact: true }).waitFor();
  const notice = p.getByText("1 cell in the file looks like a formula and got an apostrophe.");
  for (const [name, warns] of [
    ["CSV", true],
    ["JSON", false],
    ["Excel (XLSX)", true],
  ]) {
    await p.getByRole("button", { name: "Download" }).click();
    const [saved] = await Promise.all([p.waitForEvent("download"), p.getByRole("menuitem", { name }).click()]);
    await notice.waitFor({ state: warns ? "visible" : "detached" });
    if (name === "CSV") assert.equal(await readFile(await saved.path(), "utf8"), "a,b\r\n'=1+1,-5\r\n");
  }
  await p.done();
});

test("XLSX and CSV contain the rows", async () => {
  const p = await open(server.url);
  await ask(p, "Revenue by month");
  await p.getByRole("tab", { name: "Table" }).click();
  for (const [name, check] of [
    [
      "Excel (XLSX)",
      (data) => {
        const files = unzip(data);
        const sheet = Object.entries(files).find(([n]) => n.startsWith("xl/worksheets/"))[1];
        assert.match(sheet, /<v>16682\.2<\/v>/);
        assert.equal(sheet.match(/<row /g).length, 19);
        assert.ok(files["[Content_Types].xml"]);
      },
    ],
    [
      "CSV",
      (data) =>
        assert.match(data.toString("utf8").replace(/^\ufeff/, ""), /^month,revenue_eur\r?\n2025-05,5769\.38\r?\n/),
    ],
  ]) {
    await p.getByRole("button", { name: "Download" }).click();
    const [saved] = await Promise.all([p.waitForEvent("download"), p.getByRole("menuitem", { name }).click()]);
    assert.match(saved.suggestedFilename(), /^revenue-by-month\.(xlsx|csv)$/);
    check(await readFile(await saved.path()));
  }
  assert.equal(await p.getByRole("button", { name: /Download|Save/ }).count(), 1);
  await p.done();
});

test("the footnote of a computed number shows its cells and its arithmetic", async () => {
  const thinking = await serveModel();
  try {
    const p = await open(thinking.url);
    await ask(p, "What was the growth of orders?");
    const log = p.getByRole("log");
    const growth = log.getByRole("button", { name: /^12\.7%/ }).first();
    await growth.click();
    const popover = p.getByRole("dialog", { name: "Footnote of 12.7%" });
    await popover.getByText(/71 ÷ 63 − 1 = 12.6984%/).waitFor();
    const cells = popover.getByRole("table", { name: "Cells that were used" });
    assert.deepEqual(
      (await cells.getByRole("row").allTextContents()).map((t) => t.replace(/\s+/g, " ")),
      ["orders, October 2026 of r171", "orders, September 2026 of r163"],
    );
    await popover.getByText("GROUP BY").waitFor();
    await shot(p, "footnote-formula");
    // P goes back to a cell; Escape closes, and the number has the focus.
    await p.keyboard.press("p");
    await p
      .getByRole("dialog", { name: /^Footnote of/ })
      .getByRole("cell", { name: "63" })
      .waitFor();
    await p.keyboard.press("n");
    await popover.waitFor();
    await p.keyboard.press("Escape");
    await popover.waitFor({ state: "hidden" });
    assert.match(await p.evaluate(() => document.activeElement.textContent), /^12\.7%/);
    // The table shows the cell.
    await log.getByRole("button", { name: /^71\b/ }).first().click();
    await p.getByRole("button", { name: "Show in table" }).click();
    await p.waitForURL(/view=table&at=1%2Corders/);
    assert.equal(await p.locator('[role=gridcell][aria-current="true"]').textContent(), "71");
    await log
      .getByTitle(/No cell was found|no cell/i)
      .getByText("4711")
      .waitFor();
    await p.done();
  } finally {
    await thinking.stop();
  }
});

test("tables can be browsed before asking", async () => {
  const p = await open(server.url);
  await p.getByRole("button", { name: "Browse" }).click();
  await p.getByRole("button", { name: /^orders/ }).click();
  const status = p.getByRole("button", { name: /^status\b/ });
  await status.click();
  const values = p.getByRole("list", { name: "Values of status" });
  await values.getByText("delivered").waitFor();
  await values.getByText("762").waitFor();
  await p.getByRole("button", { name: "Sample rows" }).click();
  await p
    .getByRole("table", { name: "Sample rows of orders" })
    .getByRole("columnheader", { name: "customer_id" })
    .waitFor();
  await shot(p, "data-orders");
  await p.getByRole("button", { name: /^customer_id/ }).click();
  await p.getByRole("button", { name: "refers to customers.id" }).click();
  await p.waitForURL(/at=shop\.customers/);
  await p.getByRole("button", { name: "Ask about it" }).click();
  // The name appears in the question one frame after the click.
  await p.waitForFunction(() => document.getElementById("composer").value === "customers ");
  await p.done();
});

test("the kind chosen in the pane is that of the chart in the answer", async () => {
  const p = await open(server.url);
  await ask(p, "Revenue by month");
  await drawn(p);
  const inline = p.getByRole("log").getByRole("region", { name: "Chart: Revenue by month" });
  await inline.getByRole("group", { name: /Line chart/ }).waitFor();
  await p.getByRole("radio", { name: "Bars" }).click();
  await inline.getByRole("group", { name: /Bar chart/ }).waitFor();
  await p.reload();
  await inline.getByRole("group", { name: /Bar chart/ }).waitFor();
  await p.done();
});

test("an answer has the chart that its result suggests, though the model drew none", async () => {
  const talk = await serveModel();
  try {
    for (const viewport of [desktop, phone]) {
      const p = await open(talk.url, { viewport });
      await ask(p, "Tell the story of the orders");
      const inline = p.getByRole("log").getByRole("region", { name: "Chart: Tell the story of the orders" });
      await inline.getByRole("group", { name: /^Line chart of orders by month/ }).waitFor();
      await ask(p, "A quick question: how many orders are there?");
      assert.equal(
        await p
          .getByRole("log")
          .getByRole("region", { name: /^Chart:/ })
          .count(),
        1,
      );
      await p.done();
    }
  } finally {
    await talk.stop();
  }
});

test("a saved picture has the notes below its chart", async () => {
  const talk = await serveModel();
  try {
    const p = await open(talk.url);
    await ask(p, "Show two scales");
    await drawn(p);
    const note = "cents is not drawn here, only in the table.";
    await p.getByRole("tabpanel").getByText(note).waitFor();
    await inBoth(p, "chart-notes", 1440);
    const picture = async (name) => {
      await p.getByRole("button", { name: "Download" }).click();
      const [saved] = await Promise.all([p.waitForEvent("download"), p.getByRole("menuitem", { name }).click()]);
      return readFile(await saved.path());
    };
    const svg = (await picture("Vector image (SVG)")).toString("utf8");
    assert.match(svg, new RegExp(`^<svg[^]*${note}[^]*</svg>$`));
    const png = await picture("Image (PNG)");
    if (process.env.SHOTS) await writeFile(path.join(shots, "chart-notes.png"), png);
    const height = Number(/height="(\d+)"/.exec(svg)[1]);
    const onPage = (await p.getByRole("tabpanel").locator(".chart svg").boundingBox()).height;
    assert.equal(png.readUInt32BE(20), 2 * height);
    assert.ok(height > onPage + 40, `${height}: no room for the title and the note below ${onPage}`);
    await p.done();
  } finally {
    await talk.stop();
  }
});

test("the logo is the way home, also from a pane that covers the page", async () => {
  for (const viewport of [phone, { width: 768, height: 1024 }]) {
    const p = await open(server.url, { viewport });
    await ask(p, "Revenue by month");
    await p.getByRole("button", { name: "Open the chart Revenue by month" }).click();
    await drawn(p);
    await inBoth(p, "pane-logo", viewport.width);
    await p.getByRole("region", { name: "Result" }).getByRole("link", { name: "Footnote, new question" }).click();
    await p.getByRole("heading", { name: "What do you want to know?" }).waitFor();
    await p.done();
  }
});
