// Answers a part of ClickHouse's HTTP interface with chdb, for tests only: node chdb.mjs FOLDER PORT-FILE. FOLDER has
// node_modules/chdb. chdb is one process with one user: it runs statements one after the other, ignores who sends them,
// and cannot stop one, so each gets a limit of time.
import http from "node:http";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { createRequire } from "node:module";

const [folder, portFile] = process.argv.slice(2);
const { Session } = createRequire(path.join(folder, "x.js"))("chdb");
const session = new Session(fs.mkdtempSync(path.join(os.tmpdir(), "chdb-")));
const skipped = new Set(["database", "query_id", "default_format", "cancel_http_readonly_queries_on_client_close"]);
const literal = (v) => (/^-?\d+$/.test(v) ? v : `'${v.replaceAll("'", "\\'")}'`);
let last = Promise.resolve();
const inTurn = (f) => (last = last.then(f, f));

const server = http.createServer(async (req, res) => {
  const parameters = new URL(req.url, "http://x").searchParams;
  const chunks = [];
  for await (const c of req) chunks.push(c);
  let sql = Buffer.concat(chunks).toString();
  const settings = [...parameters].filter(([k]) => !skipped.has(k)).map(([k, v]) => `${k}=${literal(v)}`);
  try {
    const out = await inTurn(async () => {
      if (parameters.get("database")) await session.queryAsync(`USE \`${parameters.get("database")}\``);
      if (settings.length && /^(select|with|explain)\b/i.test(sql)) sql += " SETTINGS " + settings.join(", ");
      return session.queryAsync(sql, { format: parameters.get("default_format") || "TabSeparated" });
    });
    res.end(Buffer.from(out.bytes ? out.bytes() : ""));
  } catch (e) {
    const message = String(e.message || e);
    const at = message.indexOf("Code: ");
    const text = at < 0 ? message : message.slice(at);
    res.statusCode = 500;
    res.setHeader("X-ClickHouse-Exception-Code", text.match(/^Code: (\d+)/)?.[1] ?? "1000");
    res.end(text);
  }
});
server.listen(0, "127.0.0.1", () => fs.writeFileSync(portFile, String(server.address().port)));
process.stdin.resume().on("end", () => process.exit(0)); // with the test
