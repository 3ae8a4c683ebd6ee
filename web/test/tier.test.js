// Tiers: a conversation shows which one answers, and another can be chosen for the next question.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { answered, ask, close, desktop, open, phone, serveModel, shot } from "./harness.js";

let server;
before(async () => {
  server = await serveModel({ scenario: "links.yaml" });
});
after(async () => {
  await close();
  await server?.stop();
});

for (const [viewport, theme] of [
  [desktop, "light"],
  [phone, "dark"],
]) {
  test(`the tier can be changed between questions, ${theme}`, async () => {
    const page = await open(server.url, { viewport, theme });
    const { conversation } = await page.evaluate(async () => {
      const body = JSON.stringify({ text: "Give me links", assistant: "explore" });
      const headers = { "content-type": "application/json" };
      return (await fetch("/api/conversations", { method: "POST", headers, body })).json();
    });
    await page.goto(`${server.url}/c/${conversation}`);
    const first = await answered(page, "Give me links");
    assert.match(await first.innerText(), /High · .*tokens, counting as [\d,]+ · \$/);

    await page.getByRole("button", { name: "Model: high" }).click();
    await page.getByRole("menuitemradio", { name: /^Low/ }).waitFor();
    await shot(page, `tier-${theme}-menu`);
    await page.getByRole("menuitemradio", { name: /^Low/ }).click();
    await page.getByRole("button", { name: "Model: low" }).waitFor();
    await ask(page, "More links please");
    const second = await answered(page, "More links please");
    assert.match(await second.innerText(), /Low · .*tokens · \$/);
    assert.match(await first.innerText(), /High · /);
    await shot(page, `tier-${theme}`);
    await page.done();
  });
}
