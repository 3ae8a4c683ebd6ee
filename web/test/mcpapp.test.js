// The MCP App in a host: a page that shows the app as the extension's specification (2026-01-26) asks of hosts, in a
// sandboxed frame under the default policy, and talks to it by JSON-RPC over postMessage.
import assert from "node:assert/strict";
import http from "node:http";
import { after, before, test } from "node:test";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { close, open, phone, serve, shot } from "./harness.js";

let server, host, client, app;
before(async () => {
  [server, host] = await Promise.all([serve(), listen()]);
  client = new Client({ name: "host", version: "1" });
  await client.connect(new StreamableHTTPClientTransport(new URL(`${server.url}/mcp`)));
  const { tools } = await client.listTools();
  const { resourceUri } = tools.find((t) => t.name === "ask")._meta.ui;
  [app] = (await client.readResource({ uri: resourceUri })).contents;
});
after(async () => {
  await client?.close();
  await server?.stop();
  host?.server.close();
  await close();
});

/** Serves the host's page, which is empty: the test fills it. */
async function listen() {
  const server = http.createServer((req, res) => {
    res.writeHead(200, { "content-type": "text/html" });
    res.end('<!doctype html><html lang="en"><title>Host</title><meta name="color-scheme" content="light dark">');
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { server, url: `http://127.0.0.1:${server.address().port}/` };
}

/** The policy of a frame whose resource declares no domains. */
const policy =
  "default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; " +
  "media-src 'self' data:; connect-src 'none'";

/** Opens the app in a host that gives it the result of a call. Returns the page and the app's frame. */
async function show(result, options) {
  assert.equal(app.mimeType, "text/html;profile=mcp-app");
  const page = await open(host.url, { fresh: true, ...options });
  await page.evaluate(
    ({ html, policy, result }) =>
      new Promise((resolve) => {
        const frame = document.createElement("iframe");
        frame.title = "Answer";
        frame.sandbox = "allow-scripts";
        frame.style = "border:0; width:100%";
        frame.srcdoc = html.replace("<meta", `<meta http-equiv="Content-Security-Policy" content="${policy}"><meta`);
        const send = (message) => frame.contentWindow.postMessage({ jsonrpc: "2.0", ...message }, "*");
        globalThis.seen = [];
        globalThis.send = send;
        addEventListener("message", ({ data, source }) => {
          if (source !== frame.contentWindow) return;
          globalThis.seen.push(data);
          if (data.method === "ui/initialize")
            send({
              id: data.id,
              result: {
                protocolVersion: "2026-01-26",
                hostInfo: { name: "test", version: "1" },
                hostCapabilities: {},
                hostContext: { displayMode: "inline" },
              },
            });
          if (data.method === "ui/notifications/initialized") {
            send({ method: "ui/notifications/tool-input", params: { arguments: {} } });
            send({ method: "ui/notifications/tool-result", params: result });
            resolve();
          }
          if (data.method === "ui/notifications/size-changed") frame.style.height = `${data.params.height}px`;
        });
        document.body.append(frame);
      }),
    { html: app.text, policy, result },
  );
  return [page, page.frameLocator("iframe")];
}

test("a click on a number shows its cell and its query", async () => {
  const result = await client.callTool({ name: "ask", arguments: { question: "How many orders are there?" } });
  const [page, frame] = await show(result);
  const number = frame.getByRole("button", { name: "846" });
  await number.focus();
  await page.keyboard.press("Enter");
  await frame.getByText("number_of_orders", { exact: true }).waitFor();
  await frame.getByText("SELECT COUNT(*)").waitFor();
  assert.equal(await number.getAttribute("aria-expanded"), "true");
  await frame.getByText("There are 846 orders.").waitFor();
  const seen = await page.evaluate(() => globalThis.seen);
  assert.deepEqual(
    seen.slice(0, 2).map((m) => m.method),
    ["ui/initialize", "ui/notifications/initialized"],
  );
  assert.equal(typeof seen[0].params.appInfo.name, "string");
  assert.equal(seen[0].params.protocolVersion, "2026-01-26");
  assert.ok(seen.some((m) => m.method === "ui/notifications/size-changed" && m.params.height > 0));
  await shot(page, "mcp-app-light");
  await page.emulateMedia({ colorScheme: "dark" });
  await shot(page, "mcp-app-dark");
  await page.setViewportSize(phone);
  await page.waitForFunction(() => {
    const wanted = globalThis.seen.filter((m) => m.method === "ui/notifications/size-changed").at(-1).params;
    return wanted.width <= innerWidth && document.querySelector("iframe").clientHeight >= wanted.height;
  });
  await shot(page, "mcp-app-phone");
  await page.evaluate(() => globalThis.send({ id: 7, method: "ui/resource-teardown", params: {} }));
  await page.waitForFunction(() => globalThis.seen.some((m) => m.id === 7 && m.result));
  await page.done();
});

test("an answer cannot become part of the page", async () => {
  const text = '<img src="https://evil.example/x.png" onerror="document.body.textContent=1"> 42 of 7';
  const start = text.indexOf("42");
  const cite = { start, end: start + 2, text: "42", value: "<b>42</b>", result: "r1", row: 0, column: "<i>n</i>" };
  const [page, frame] = await show({
    content: [],
    structuredContent: {
      status: "complete",
      answer: text,
      footnotes: [cite],
      unsourced: [{ start: text.length - 1, end: text.length, text: "7" }],
    },
  });
  await frame.getByText("<img src=").waitFor();
  await frame.getByRole("button", { name: "42" }).click();
  await frame.getByText("<b>42</b>").waitFor();
  assert.equal(await frame.locator("img, b, i").count(), 0);
  await page.done(); // fails if the page asked another host, or broke the policy
});
