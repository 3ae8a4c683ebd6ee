// Every view, in both themes and widths: checked with axe, and saved as a screenshot.
import { after, before, test } from "node:test";
import { ask, close, desktop, open, phone, serve } from "./harness.js";
import { inBoth } from "./look.js";

let server;
before(async () => (server = await serve()));
after(async () => {
  await server?.stop();
  await close();
});

for (const [width, viewport] of Object.entries({ 1440: desktop, 390: phone })) {
  test(`every view, at ${width}`, async () => {
    const p = await open(server.url, { viewport });
    const see = (name) => inBoth(p, name, width);
    const wide = viewport === desktop;
    await p.getByRole("button", { name: "Top five customers by revenue", exact: true }).waitFor();
    await see("home");
    await p.getByRole("button", { name: "Browse" }).click();
    await p.getByRole("button", { name: /^orders/ }).click();
    await see("data");
    await p.getByRole("button", { name: "Close data" }).click();
    await ask(p, "Revenue by month");
    await p.getByRole("log").getByText("Revenue by month was highest").waitFor();
    await see("answer");
    await p.getByRole("button", { name: /^1 query/ }).click();
    await p.getByRole("button", { name: /^Running a query/ }).click();
    await see("steps");
    await p
      .getByRole("log")
      .getByRole("button", { name: /^Revenue by month/ })
      .click();
    for (const tab of ["Chart", "Table", "SQL"]) {
      await p.getByRole("tab", { name: tab }).click();
      await p.getByRole("tabpanel").locator("*").first().waitFor();
      await see(`result-${tab.toLowerCase()}`);
    }
    if (!wide) await p.getByRole("button", { name: "Close the result" }).click();
    await p.getByRole("button", { name: "This conversation" }).click();
    await see("menu");
    await p.getByRole("menuitem", { name: /^Trace/ }).click();
    await p.getByText("run finished").waitFor();
    await see("trace");
    await p.getByRole("button", { name: "Close trace" }).click();
    if (!wide) await p.getByRole("button", { name: "Show the conversations" }).click();
    await see("list");
    await p.getByRole("button", { name: /machine/ }).click();
    await p.getByRole("menuitem", { name: "Usage and settings" }).click();
    await p.getByRole("dialog", { name: "Usage and settings" }).getByText("Version").waitFor();
    await see("settings");
    await p.keyboard.press("Escape");
    await p.getByRole("dialog", { name: "Usage and settings" }).waitFor({ state: "hidden" });
    await p.keyboard.press("Control+k");
    await p.getByRole("dialog").waitFor();
    await see("commands");
    await p.done();
  });
}
