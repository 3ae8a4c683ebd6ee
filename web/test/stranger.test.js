// What a stranger does with a file of their own takes at most three actions each. An action is a click, with the file
// chosen in the dialog that it opens, or a text with the Enter that sends it.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { after, before, test } from "node:test";
import { answered, close, desktop, open, phone, serve, serveModel, shot } from "./harness.js";

const most = 3;

let server, model;
before(async () => ([server, model] = await Promise.all([serve(), serveModel()])));
after(async () => {
  await close();
  await Promise.all([server?.stop(), model?.stop()]);
});

const months = ["01", "02", "03", "04", "05", "06"];
const rows = months.flatMap((m, i) =>
  ["Bergen", "Oslo", "Tromsø"].map(
    (town, t) => `2026-${m}-1${t},${town},${t ? "Ferry" : "Bus"},${120 + i * 17 - t * 9}`,
  ),
);
const trips = {
  name: "trips.csv",
  mimeType: "text/csv",
  buffer: Buffer.from(["day,town,vehicle,passengers", ...rows].join("\n")),
};

/** Counts the actions of a task on a page. */
function stranger(page) {
  let actions = 0;
  const field = page.getByRole("textbox", { name: "Your question" });
  return {
    async click(what, options) {
      actions++;
      await what.click(options);
    },
    async choose(what, file) {
      actions++;
      const [chooser] = await Promise.all([page.waitForEvent("filechooser"), what.click()]);
      await chooser.setFiles(file);
    },
    async type(text, into = field) {
      actions++;
      await into.fill(text);
      await into.press("Enter");
    },
    async press(key) {
      actions++;
      await page.keyboard.press(key);
    },
    done(task) {
      assert.ok(actions <= most, `${task} takes ${actions} actions`);
      actions = 0;
    },
  };
}

const saved = async (page, work) => {
  const [download] = await Promise.all([page.waitForEvent("download"), work()]);
  return { name: download.suggestedFilename(), bytes: await readFile(await download.path()) };
};

for (const [width, viewport] of [
  [1440, desktop],
  [390, phone],
])
  test(`a stranger finds everything within three actions, at ${width}`, async () => {
    const narrow = viewport === phone;
    const p = await open(server.url, { viewport, acceptDownloads: true });
    const s = stranger(p);
    const button = (name, options) => p.getByRole("button", { name, ...options });
    const look = async (name) => {
      for (const theme of ["light", "dark"]) {
        await p.emulateMedia({ colorScheme: theme });
        await p.waitForFunction(() => !document.querySelector(".chart:not([data-drawn])"));
        await shot(p, `stranger-${name}-${theme}-${width}`);
      }
      await p.emulateMedia({ colorScheme: "light" });
    };

    const source = `trips_${width}`;
    const question = "Total passengers by town";
    await s.click(button("Add file", { exact: true }));
    await s.choose(p.getByRole("menuitem", { name: "Upload to the server" }), { ...trips, name: `${source}.csv` });
    await p.getByRole("status").getByText("is ready").waitFor();
    await look("uploaded");
    await s.type(question);
    const turn = await answered(p, question);
    await turn.getByText(`from ${source}`, { exact: true }).waitFor();
    s.done("upload a file and ask about it");
    await look("answer");

    await s.click(turn.getByRole("button", { name: /footnote 1/ }).first());
    const note = p.getByRole("dialog", { name: /^Footnote of/ });
    await note.getByText(/SELECT/).waitFor();
    s.done("see the SQL behind a number");
    await look("footnote");

    await s.click(note.getByRole("button", { name: "Open the query" }));
    await s.click(p.getByRole("textbox", { name: "SQL" }));
    await p.keyboard.press("Control+End");
    await p.keyboard.type(" LIMIT 2");
    await s.press("Control+Enter");
    await p
      .getByText(/version 2, by you/i)
      .first()
      .waitFor();
    s.done("edit the SQL and run it again");
    await look("edited");

    if (narrow) await p.getByRole("button", { name: "Close the result" }).click();
    const openChart = async () => {
      if (narrow) await s.click(turn.getByRole("button", { name: /^Total passengers by town/ }).first());
      else await s.click(p.getByRole("tab", { name: "Chart" }));
    };
    await openChart();
    await s.click(p.getByRole("radio", { name: "Pie" }));
    await p.getByRole("radio", { name: "Pie", checked: true }).waitFor();
    s.done("change the kind of the chart");
    await look("pie");

    for (const [item, ending, start] of [
      [/^Excel/, ".xlsx", "PK"],
      [/^Image \(PNG\)/, ".png", "\x89PNG"],
    ]) {
      await s.click(button("Download", { exact: true }));
      await look("download");
      const file = await saved(p, () => s.click(p.getByRole("menuitem", { name: item })));
      assert.ok(file.name.endsWith(ending) && file.bytes.toString("latin1").startsWith(start), file.name);
      s.done(`download ${ending}`);
    }
    if (narrow) await p.getByRole("button", { name: "Close the result" }).click();

    await s.type("and by vehicle");
    await answered(p, "and by vehicle");
    s.done("follow up");
    await look("follow-up");

    await s.click(button("Bad answer").last());
    await s.type("It should be by month.", p.getByRole("textbox", { name: "What was wrong with it?" }));
    await p.getByRole("dialog", { name: "Why?" }).waitFor({ state: "detached" });
    s.done("give feedback");

    const other = await open(p.url(), { context: p.context(), viewport });
    await s.type("Average passengers by town", other.getByRole("textbox", { name: "Your question" }));
    await answered(other, "Average passengers by town");
    await answered(p, "Average passengers by town"); // in the first tab, too
    s.done("continue in a second tab");
    await other.close();

    await p.goto(server.url);
    if (narrow) await s.click(button("Show the conversations"));
    await s.click(p.getByRole("searchbox", { name: "Search conversations" }));
    await p.keyboard.type("passengers");
    await look("search");
    await s.click(
      p
        .getByRole("navigation")
        .getByRole("link", { name: /passengers/ })
        .first(),
    );
    await answered(p, question);
    await p.getByText("no cost").first().waitFor();
    s.done("find an old conversation and see what it cost");

    await p.goto(server.url);
    await s.click(button("Add file", { exact: true }));
    await s.choose(p.getByRole("menuitem", { name: "Open in this browser" }), { ...trips, name: "diary.csv" });
    const sent = [];
    p.on("request", (r) => sent.push(r.postData() ?? ""));
    await p.getByText("these names and types").waitFor();
    await look("local");
    await s.type("Total passengers by town");
    await (await answered(p, "Total passengers by town")).getByText("Bergen").first().waitFor();
    assert.ok(!sent.join().includes("Tromsø"), "a value left the browser");
    s.done("ask about a file that stays on the computer");
    await look("local-answer");
    await p.context().close();
    assert.deepEqual(p.faults(), []);
  });

test("an answer is stopped, and its cost is visible", async () => {
  const p = await open(model.url);
  const s = stranger(p);
  await s.type("Go on forever");
  await p.getByText("and again and again").first().waitFor();
  s.done("ask");
  await s.click(p.getByRole("button", { name: "Stop" }));
  await p.getByText("You stopped this answer.").waitFor();
  s.done("stop");
  await p.getByTitle("The cost of this conversation").waitFor();
  await p
    .getByText(/tokens/)
    .first()
    .waitFor();
  await p.done();
});
