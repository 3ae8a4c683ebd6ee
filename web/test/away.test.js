// The page while the server is down: parts that are not loaded yet load once it is back.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { ask, close, line, open, phone, serve } from "./harness.js";
import { inBoth } from "./look.js";

let server;
before(async () => (server = await serve()));
after(async () => {
  await close();
  await server?.stop();
});

const away = [/Failed to load resource/, /net::ERR/, /dynamically imported module/, /Unable to preload/];

test("panes that are not loaded yet load once the server is back, and nothing is lost", async () => {
  const wire = await line(server.url);
  try {
    const p = await open(wire.url, { allow: away });
    await ask(p, "Revenue by month");
    await p.getByRole("log").getByText("Revenue by month was highest").waitFor();
    wire.cut();
    await p.getByText("Reconnecting").waitFor();
    await p.getByRole("button", { name: "This conversation" }).click();
    await p.getByRole("menuitem", { name: /^Trace/ }).click();
    await p.getByRole("heading", { name: "Trace" }).waitFor();
    await p.getByRole("textbox", { name: "Your question" }).fill("and by year?");
    await p.keyboard.press("Control+k");
    await p.getByRole("log").getByText("Revenue by month was highest").waitFor();
    await inBoth(p, "away", 1440);
    wire.mend();
    await p.getByRole("dialog").waitFor({ timeout: 60_000 });
    await p.keyboard.press("Escape");
    await p.getByText("run finished").waitFor({ timeout: 60_000 });
    assert.equal(await p.getByRole("textbox", { name: "Your question" }).inputValue(), "and by year?");
    await p.done();
  } finally {
    await wire.stop();
  }
});

test("a chart whose rows or code failed to load is drawn once they load", async () => {
  const wire = await line(server.url);
  try {
    const p = await open(wire.url, { viewport: phone, allow: away });
    const log = p.getByRole("log");
    // The chart in the answer may load its rows before the connection is cut.
    await p.route("**/api/results/**", (r) => r.abort());
    await ask(p, "Revenue by month");
    await log.getByText("Revenue by month was highest").waitFor();
    wire.cut();
    await p.getByText("Reconnecting").waitFor();
    await p.unroute("**/api/results/**");
    // By keyboard: the notice that the server is down moves the button away from a pointer.
    await log.getByRole("button", { name: /^Revenue by month/ }).press("Enter");
    await p.getByRole("tab", { name: "Chart", selected: true }).waitFor();
    await p.getByRole("tabpanel").getByRole("alert").waitFor();
    await inBoth(p, "away-chart", 390);
    wire.mend();
    await p.getByRole("tabpanel").locator(".chart[data-drawn]").waitFor({ timeout: 60_000 });
    await p.done();
  } finally {
    await wire.stop();
  }
});

test("a part that a newer server no longer has asks for a reload and loses nothing", async () => {
  const p = await open(server.url, { allow: [...away, /TypeError: Failed to fetch/] });
  await ask(p, "Revenue by month");
  await p.route("**/assets/Trace*", (r) => r.fulfill({ status: 404, body: "" }));
  await p.getByRole("button", { name: "This conversation" }).click();
  await p.getByRole("menuitem", { name: /^Trace/ }).click();
  const pane = p.getByRole("region", { name: "Result" });
  await pane.getByRole("alert").getByText("This part of the page couldn't be shown.").waitFor();
  await inBoth(p, "away-gone", 1440);
  await p.getByRole("log").getByText("Revenue by month was highest").waitFor();
  await p.getByRole("textbox", { name: "Your question" }).fill("and by year?");
  await p.unroute("**/assets/Trace*");
  await pane.getByRole("button", { name: "Reload the page" }).click();
  await p.getByText("run finished").waitFor();
  assert.equal(await p.getByRole("textbox", { name: "Your question" }).inputValue(), "and by year?");
  await p.done();
});
