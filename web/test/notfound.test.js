// Addresses that lead nowhere.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { close, desktop, open, phone, serve } from "./harness.js";
import { inBoth } from "./look.js";

let server;
before(async () => {
  server = await serve();
  // The demo's prices are made while it already serves pages.
  const symbols = async () => (await fetch(`${server.url}/api/market/symbols`)).json();
  while (!(await symbols()).symbols?.length) await new Promise((resolve) => setTimeout(resolve, 200));
});
after(async () => {
  await close();
  await server?.stop();
});

for (const [path, heading, words] of [
  ["/nonsense", "Page not found", "There is nothing at /nonsense."],
  ["/c/unknown-id", "Conversation not found", "It may have been deleted"],
  ["/chart/unknown", "Chart not found", "There is no chart of unknown on this server."],
])
  test(`${path} says what happened and leads home`, async () => {
    for (const [width, viewport] of [
      [1440, desktop],
      [390, phone],
    ]) {
      const p = await open(server.url, { viewport, allow: [/status of 404/] });
      await p.getByRole("textbox", { name: "Your question" }).waitFor();
      assert.equal((await p.goto(server.url + path)).status(), 404);
      await p.getByRole("heading", { level: 1, name: heading }).waitFor();
      await p.getByText(words).waitFor();
      assert.equal(await p.title(), `${heading} · Footnote`);
      await inBoth(p, `notfound-${heading.split(" ")[0].toLowerCase()}`, width);
      // The skip link leads to an element that is there.
      await p.keyboard.press("Tab");
      const skip = p.locator("a:focus");
      assert.equal(await p.locator(await skip.getAttribute("href")).count(), 1);
      await p.getByRole("button", { name: "Ask a new question" }).click();
      await p.getByRole("heading", { level: 1, name: "What do you want to know?" }).waitFor();
      assert.equal(new URL(p.url()).pathname, "/");
      await p.done();
    }
  });
