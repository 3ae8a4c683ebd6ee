// Lists the npm packages that the web app is built from and with, as far as they are the same on every system: as
// lines of name, version, folder and licence, or with --cyclonedx as an SBOM. (npm sbom refuses our lock file, because
// of packages for other systems.)
import { readFileSync } from "node:fs"
import { execFileSync } from "node:child_process"

const app = new URL("../../web/ui/", import.meta.url).pathname
const list = execFileSync("npm", ["ls", "--omit=dev", "--all", "--parseable"], {
  cwd: app,
  encoding: "utf8",
  stdio: ["ignore", "pipe", "ignore"],
})
const packages = new Map()
for (const folder of list.trim().split("\n").slice(1)) {
  const about = JSON.parse(readFileSync(folder + "/package.json", "utf8"))
  if (!about.os && !about.cpu) packages.set(`${about.name}@${about.version}`, { ...about, folder })
}
const sorted = [...packages.keys()].sort().map((key) => packages.get(key))

if (process.argv[2] !== "--cyclonedx") {
  for (const p of sorted) console.log([p.name, p.version, p.folder, p.license].join("\t"))
} else {
  const lock = JSON.parse(readFileSync(app + "package-lock.json", "utf8")).packages
  const components = sorted.map((p) => {
    const purl = `pkg:npm/${p.name.replace("@", "%40")}@${p.version}`
    const integrity = Buffer.from(lock[p.folder.slice(app.length)].integrity.replace("sha512-", ""), "base64")
    return {
      "bom-ref": purl,
      type: "library",
      name: p.name,
      version: p.version,
      hashes: [{ alg: "SHA-512", content: integrity.toString("hex") }],
      // A single name is an SPDX id; "MIT OR Apache-2.0" is an expression.
      licenses: [/ /.test(p.license) ? { expression: p.license } : { license: { id: p.license } }],
      purl,
    }
  })
  const component = { type: "application", name: "footnote-web", "bom-ref": "footnote-web" }
  const bom = { bomFormat: "CycloneDX", specVersion: "1.6", version: 1, metadata: { component }, components }
  console.log(JSON.stringify(bom, null, 2))
}
