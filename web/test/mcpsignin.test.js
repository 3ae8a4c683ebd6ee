// Sign-in of an AI client, from its first refused call to its first answer: the unmodified clients of the official SDK,
// versions 1 and 2, and a person in a browser.
import assert from "node:assert/strict";
import http from "node:http";
import net from "node:net";
import { after, before, test } from "node:test";
import { Client as ClientV1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as TransportV1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { Client as ClientV2, StreamableHTTPClientTransport as TransportV2 } from "@modelcontextprotocol/client";
import { close, desktop, open, phone, serve } from "./harness.js";
import { clean, inBoth, reach } from "./look.js";

const key = "key-of-ada-for-tests";
let server, callback;
before(async () => {
  const listen = `127.0.0.1:${await freePort()}`;
  [server, callback] = await Promise.all([
    serve({
      listen,
      env: {
        FOOTNOTE_API_KEYS: `${key}=acme/ada`,
        FOOTNOTE_MCP_URL: `http://${listen}/mcp`,
        FOOTNOTE_MCP_SIGN_IN: "true",
      },
    }),
    callbacks(),
  ]);
});
after(async () => {
  await server?.stop();
  callback?.server.close();
  await close();
});

/** Finds a port: the server must know its address before it starts. */
async function freePort() {
  const probe = net.createServer();
  await new Promise((resolve) => probe.listen(0, "127.0.0.1", resolve));
  const { port } = probe.address();
  await new Promise((resolve) => probe.close(resolve));
  return port;
}

/** Listens for answers, as a client on the person's machine does. */
async function callbacks() {
  let arrived;
  const server = http.createServer((req, res) => {
    res.end("You can close this page.");
    if (req.url.startsWith("/callback")) arrived?.(new URL(req.url, "http://127.0.0.1").searchParams);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    server,
    url: `http://127.0.0.1:${server.address().port}/callback`,
    next: () => new Promise((resolve) => (arrived = resolve)),
  };
}

/** What the SDK needs to sign in: a memory, and a way to the browser. */
function memory(name) {
  const has = {};
  return {
    has,
    redirectUrl: callback.url,
    clientMetadata: {
      client_name: name,
      redirect_uris: [callback.url],
      grant_types: ["authorization_code", "refresh_token"],
      response_types: ["code"],
      token_endpoint_auth_method: "none",
    },
    state: () => "state-of-the-client",
    clientInformation: () => has.client,
    saveClientInformation: (client) => void (has.client = client),
    tokens: () => has.tokens,
    saveTokens: (tokens) => void (has.tokens = tokens),
    redirectToAuthorization: (url) => void (has.url = url),
    saveCodeVerifier: (verifier) => void (has.verifier = verifier),
    codeVerifier: () => has.verifier,
    saveDiscoveryState: (state) => void (has.discovery = state),
    discoveryState: () => has.discovery,
  };
}

const ignored = [/401/];
const browse = (url, more) => open(url, { allow: ignored, fresh: true, ...more });
const allow = (page) => page.getByRole("button", { name: "Allow", exact: true });

async function signIn(page) {
  await page.getByLabel("API key").fill(key);
  await page.getByRole("button", { name: "Sign in" }).click();
}

/** Gives consent in a browser, and returns what the client gets. */
async function consent(url) {
  const page = await browse(url);
  await signIn(page);
  const answer = callback.next();
  await allow(page).click();
  const params = await answer;
  await page.context().close();
  return params;
}

for (const [version, Client, Transport] of [
  ["1", ClientV1, TransportV1],
  ["2", ClientV2, TransportV2],
]) {
  test(`the client of version ${version} signs in, asks, and refreshes its token`, async () => {
    const provider = memory(`Client ${version}`);
    const transport = () => new Transport(new URL(`${server.url}/mcp`), { authProvider: provider });
    const first = transport();
    const refused = await new Client({ name: "test", version: "1" }).connect(first).then(
      () => "connected",
      (err) => err.name + err.message,
    );
    assert.match(refused, /Unauthorized/);
    assert.equal(provider.has.url.pathname, "/oauth/authorize");
    const params = await consent(provider.has.url.href);
    assert.equal(params.get("state"), "state-of-the-client");
    assert.equal(params.get("iss"), server.url);
    await first.finishAuth(version === "1" ? params.get("code") : params);
    const client = new Client({ name: "test", version: "1" });
    await client.connect(transport());
    const res = await client.callTool({ name: "ask", arguments: { question: "How many orders are there?" } });
    assert.match(res.content[0].text, /846/);
    const old = provider.has.tokens;
    provider.has.tokens = { ...old, access_token: `${old.access_token.slice(0, -1)}~` };
    assert.ok((await client.listTools()).tools.length >= 5);
    assert.notEqual(provider.has.tokens.refresh_token, old.refresh_token);
    await client.close();
  });
}

/** The address of the page for a client that registers under a name. */
async function pageFor(name, change = {}) {
  const res = await fetch(`${server.url}/oauth/register`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ client_name: name, redirect_uris: [callback.url] }),
  });
  const query = new URLSearchParams({
    client_id: (await res.json()).client_id,
    redirect_uri: callback.url,
    response_type: "code",
    code_challenge: "a".repeat(43),
    code_challenge_method: "S256",
    ...change,
  });
  return `${server.url}/oauth/authorize?${query}`;
}

test("the page is usable by keyboard, at every width, in both themes", async () => {
  const page = await browse(await pageFor("Desk assistant"));
  await signIn(page);
  await page.getByRole("heading", { name: "Allow Desk assistant to use Footnote for you?" }).waitFor();
  await page.getByText("ada of acme").waitFor();
  await clean(page, "consent");
  await inBoth(page, "consent", 1440);
  await page.setViewportSize(phone);
  await inBoth(page, "consent", 390);
  await page.setViewportSize(desktop);
  await reach(page, page.getByRole("button", { name: "Don’t allow" }));
  const answer = callback.next();
  await page.keyboard.press("Enter");
  assert.equal((await answer).get("error"), "access_denied");
  await page.context().close();
});

test("a hostile request is shown, not followed", async () => {
  const name = '<img src=x onerror="document.title=1">' + "W".repeat(40);
  const page = await browse(await pageFor(name), { allow: [...ignored, /400/], viewport: phone });
  await signIn(page);
  await page.getByText("<img src=x").waitFor();
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "the page scrolls sideways");
  await page.goto(await pageFor("Other", { redirect_uri: "https://evil.example/" }));
  await page.getByRole("alert").filter({ hasText: "has not named" }).waitFor();
  assert.equal(await allow(page).count(), 0);
  await clean(page, "consent-refused");
  await page.goto(await pageFor("Other", { client_id: "javascript:alert(1)" }));
  await page.getByRole("alert").filter({ hasText: "not known" }).waitFor();
  const answer = callback.next();
  await page.goto(await pageFor("Plain", { code_challenge_method: "plain" })).catch(() => {}); // it leaves at once
  assert.equal((await answer).get("error"), "invalid_request");
  await page.context().close();
});
