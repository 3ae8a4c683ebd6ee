// Starts the program with the demo shop, offline, and a browser. Console errors, requests to
// other hosts and policy violations fail the test.
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import http from "node:http";
import net from "node:net";
import path from "node:path";
import { afterEach } from "node:test";
import { chromium } from "playwright-core";

const root = path.resolve(import.meta.dirname, "../..");
export const shots = path.join(import.meta.dirname, "shots");

/** The program under test: TEST_PROGRAM, or bin/footnote of this checkout. */
export const binary = process.env.TEST_PROGRAM ?? path.join(root, "bin/footnote");

/** Starts `footnote demo`, or another command, in its own folder. */
export async function serve({ args = ["demo"], env = {}, data, listen = "127.0.0.1:0" } = {}) {
  const folder = data ?? (await mkdtemp(path.join(tmpdir(), "footnote-web-")));
  const clean = Object.fromEntries(Object.entries(process.env).filter(([k]) => !/^(ANTHROPIC|FOOTNOTE)_/.test(k)));
  const child = spawn(binary, [...args, "--data", folder, "--listen", listen], {
    env: { ...clean, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let err = "";
  child.stderr.on("data", (d) => (err = (err + d).slice(-20_000)));
  const url = await new Promise((resolve, reject) => {
    const limit = setTimeout(() => reject(new Error(`the server did not start in 30 s\n${err}`)), 30_000);
    let out = "";
    child.stdout.on("data", (d) => {
      out += d;
      const m = /"ready":true,"listen":"([^"]+)"/.exec(out);
      if (m) {
        clearTimeout(limit);
        resolve(`http://${m[1]}`);
      }
    });
    child.on("exit", (code) => {
      clearTimeout(limit);
      reject(new Error(`the server ended with ${code}\n${err}`));
    });
  });
  const ended = new Promise((resolve) => child.on("exit", resolve));
  return {
    url,
    folder,
    log: () => err,
    /** Stops the program. Deletes its data, unless the caller chose the folder. */
    async stop(signal = "SIGTERM") {
      child.kill(signal);
      await ended;
      if (!data) await rm(folder, { recursive: true, force: true });
    },
  };
}

let browser;

/** The one browser of a test process. */
export async function launch() {
  const found =
    process.env.CHROMIUM ??
    ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find((p) => existsSync(p));
  if (!found) throw new Error("No Chromium: run scripts/setup.sh test, or name one in CHROMIUM.");
  browser ??= await chromium.launch({
    executablePath: found,
    args: [
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
    ],
  });
  return browser;
}

export async function close() {
  await browser?.close();
  browser = spare = undefined;
}

export const desktop = { width: 1440, height: 900 };
export const phone = { width: 390, height: 844 };

// A page that the last test closed, for the next one. A new page starts a process and compiles
// the app, which takes longer than most tests.
let spare;

/** Opens a page and watches it. `page.faults()` lists what it did wrong; `allow` has patterns of
 *  console messages that a test provokes. Reuses a page of an earlier test, cleaned up, unless
 *  `fresh` is set or the test needs its own context or options. */
export async function open(
  url,
  { viewport = desktop, theme = "light", context: given, allow = [], motion = "reduce", fresh, ...options } = {},
) {
  const plain = !fresh && !given && Object.keys(options).length === 0;
  const page = (plain && (await reuse(viewport, theme, motion))) || (await newPage());
  async function newPage() {
    const b = await launch();
    const settings = { viewport, colorScheme: theme, reducedMotion: motion, locale: "en-US", timezoneId: "UTC" };
    const context = given ?? (await b.newContext({ ...settings, ...options }));
    const p = await context.newPage();
    p.setDefaultTimeout(60_000); // long enough for a busy machine
    await p.addInitScript(() => {
      addEventListener("securitypolicyviolation", (e) =>
        console.error(`policy: ${e.violatedDirective} ${e.blockedURI}`),
      );
    });
    return p;
  }
  pages.add(page);
  page.on("close", () => pages.delete(page));
  const faults = [];
  const { origin } = new URL(url);
  page.on("console", (m) => {
    // The page of the last test may still look for an icon, because release() shows it a bare image.
    if (m.location().url === `${origin}/favicon.ico`) return;
    if (
      (m.type() === "error" || m.type() === "warning") &&
      !allow.some((p) => p.test(m.text()) || p.test(m.location().url))
    )
      faults.push(`console: ${m.text()} (${m.location().url})`);
  });
  page.on("pageerror", (e) => faults.push(`error: ${e.stack ?? e.message}`));
  page.on("request", (r) => {
    const u = new URL(r.url());
    if (!["data:", "blob:"].includes(u.protocol) && u.origin !== origin) faults.push(`foreign request: ${r.url()}`);
  });
  await page.goto(url);
  return Object.assign(page, {
    faults: () => faults,
    async done() {
      const ours = page.context();
      if (given) await page.close();
      else if (!plain || spare || faults.length || ours.pages().length > 1) await ours.close();
      else await release(page, origin);
      if (faults.length) throw new Error(`the page misbehaved:\n${faults.join("\n")}`);
    },
  });
}

const events = ["close", "console", "dialog", "download", "filechooser", "pageerror", "popup", "request", "response"];

/** Keeps a page for the next test, without this test's listeners, routes, cookies and storage. If
 *  the server is gone, closes the page. */
async function release(page, origin) {
  pages.delete(page);
  const context = page.context();
  try {
    for (const e of events) page.removeAllListeners(e);
    await page.unrouteAll({ behavior: "ignoreErrors" });
    await context.unrouteAll({ behavior: "ignoreErrors" });
    // A file of the same origin, because about:blank would start another process.
    await page.goto(`${origin}/favicon.svg`);
    await page.evaluate(() => sessionStorage.clear());
    const cdp = await context.newCDPSession(page);
    await cdp.send("Storage.clearDataForOrigin", { origin, storageTypes: "all" });
    await cdp.detach();
    await context.clearCookies();
    spare = page;
  } catch {
    await context.close();
  }
}

async function reuse(viewport, colorScheme, reducedMotion) {
  const page = spare;
  spare = undefined;
  if (!page || page.isClosed()) return undefined;
  await page.setViewportSize(viewport);
  await page.emulateMedia({ media: null, colorScheme, reducedMotion });
  return page;
}

// Prints the page when a test fails, because nobody can see the screen in CI.
const pages = new Set();
afterEach(async (t) => {
  if (t.passed) return;
  for (const page of pages) {
    const seen = await page.locator("body").ariaSnapshot({ timeout: 5000 }).catch(String);
    console.log(`${page.url()}\n${seen.slice(-6000)}`);
    pages.delete(page);
  }
});

/** Asks a question and waits for the end of the answer. */
export async function ask(page, question) {
  await page.getByRole("textbox", { name: "Your question" }).fill(question);
  await page.getByRole("button", { name: "Send", exact: true }).click();
  await answered(page, question);
}

/** Waits until the turn of a question has ended. */
export async function answered(page, question) {
  const turn = page.getByRole("article", { name: `Question: ${question}` }).last();
  await turn
    .getByRole("button", { name: /Copy the answer|Answer again/ })
    .first()
    .waitFor({ timeout: 60_000 }); // long enough for a busy machine
  return turn;
}

/** Saves a screenshot in web/test/shots, if SHOTS is set. */
export async function shot(page, name) {
  if (!process.env.SHOTS) return;
  await mkdir(shots, { recursive: true });
  await page.screenshot({ path: path.join(shots, `${name}.png`) });
}

/** Starts a server with an imitated model that follows a scenario: a file, or a function that
 *  writes one once the server runs, and returns its name. The model's requests are added to
 *  the array requests, if it is given. */
export async function serveModel({ env = {}, scenario = "scenario.yaml", requests } = {}) {
  const late = typeof scenario === "function";
  const between = requests || late ? await relay(requests ?? []) : undefined;
  const stops = between ? [between.stop] : [];
  const stop = async () => {
    for (const s of stops.reverse()) await s();
  };
  const begin = async (file) => {
    const model = await fakeModel(file);
    stops.push(model.stop);
    between?.to(model.url);
    return between?.url ?? model.url;
  };
  try {
    const upstream = late ? between.url : await begin(scenario);
    const server = await serve({
      env: {
        ANTHROPIC_BASE_URL: upstream,
        ANTHROPIC_API_KEY: "test-key-of-nobody",
        FOOTNOTE_MODEL: "claude-sonnet-5-5",
        ...env,
      },
    });
    stops.push(server.stop);
    if (late) await begin(await scenario(server.url));
    return { ...server, stop };
  } catch (err) {
    await stop();
    throw err;
  }
}

/** Starts only the imitated model. */
async function fakeModel(scenario) {
  const clean = Object.fromEntries(Object.entries(process.env).filter(([k]) => !/^(ANTHROPIC|FOOTNOTE)_/.test(k)));
  const folder = await mkdtemp(path.join(tmpdir(), "footnote-web-"));
  const model = spawn(
    binary,
    ["fake-model", "--scenario", path.join(import.meta.dirname, scenario), "--listen", "127.0.0.1:0", "--data", folder],
    {
      env: clean,
      stdio: ["ignore", "pipe", "pipe"],
    },
  );
  const ended = new Promise((resolve) => model.on("exit", resolve));
  const address = await new Promise((resolve, reject) => {
    let out = "",
      err = "";
    model.stderr.on("data", (d) => (err += d));
    model.stdout.on("data", (d) => {
      out += d;
      const m = /"listen":"([^"]+)"/.exec(out);
      if (m) resolve(m[1]);
    });
    model.on("exit", (code) => reject(new Error(`the model ended with ${code}\n${err}`)));
  });
  return {
    url: `http://${address}`,
    async stop() {
      model.kill();
      await ended;
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Starts a proxy that records request bodies. Its target is set later. */
async function relay(requests) {
  let target;
  const server = http.createServer((req, res) => {
    const chunks = [];
    req.on("data", (c) => chunks.push(c));
    req.on("end", () => {
      const body = Buffer.concat(chunks);
      requests.push(body.toString());
      const up = http.request(
        new URL(req.url, target),
        { method: req.method, headers: { ...req.headers, host: new URL(target).host } },
        (back) => {
          res.writeHead(back.statusCode, back.headers);
          back.pipe(res);
        },
      );
      up.on("error", () => res.destroy());
      res.on("close", () => up.destroy());
      up.end(body);
    });
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    to: (url) => (target = url),
    stop: () => new Promise((resolve) => (server.closeAllConnections(), server.close(resolve))),
  };
}

/** Starts a proxy whose connections can be cut and restored. */
export async function line(target) {
  const { hostname, port } = new URL(target);
  const open = new Set();
  let cut = false;
  const server = net.createServer((a) => {
    if (cut) return a.destroy();
    const b = net.connect(Number(port), hostname);
    open.add(a);
    for (const [x, y] of [
      [a, b],
      [b, a],
    ]) {
      x.pipe(y);
      x.on("error", () => y.destroy());
      x.on("close", () => (open.delete(a), y.destroy()));
    }
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    cut() {
      cut = true;
      for (const s of open) s.destroy();
    },
    mend: () => (cut = false),
    async stop() {
      this.cut();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
