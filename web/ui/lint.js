// Finds colours and lengths outside src/tokens.css, arbitrary values in class names, HTML inserted as text, long lines,
// complex functions, wrong imports of modules, and import cycles. ESLint cannot read TypeScript 7 yet, so this computes
// the cyclomatic complexity from the bundler's syntax tree, as ESLint's rule does.
import { readdir, readFile } from "node:fs/promises";
import path from "node:path";
import { parseAst } from "vite";

const src = path.join(import.meta.dirname, "src");

const rules = [
  {
    what: "a raw colour",
    files: /\.(tsx?|css)$/,
    find: /#[0-9a-f]{3,8}\b|\b(rgb|rgba|hsl|hsla|oklch|oklab|lab|lch)\(/i,
  },
  { what: "a length in px", files: /\.css$/, find: /\b\d*\.?\d+px\b/ },
  { what: "a length in px", files: /\.tsx?$/, find: /(["'`\s:[])\d*\.?\d+px\b/ },
  { what: "an arbitrary colour or length in a class", files: /\.tsx?$/, find: /-\[(#|\d*\.?\d+(px|rem|em)\b|rgb|hsl)/ },
  {
    what: "HTML as text",
    files: /\.tsx?$/,
    find: /dangerouslySetInnerHTML|\.innerHTML\s*=|\.outerHTML\s*=|insertAdjacentHTML/,
  },
  { what: "an emoji", files: /\.(tsx?|css)$/, find: /\p{Extended_Pictographic}/u },
];

// Text sizes that are not among the six of tokens.css.
const sizes = /\btext-(3xl|4xl|5xl|6xl|7xl)\b/;

let found = 0;
for (const name of await readdir(src, { recursive: true })) {
  if (!/\.(tsx?|css)$/.test(name) || name === "tokens.css" || /\.test\.tsx?$/.test(name)) continue;
  const lines = (await readFile(path.join(src, name), "utf8")).split("\n");
  lines.forEach((line, i) => {
    for (const { what, files, find } of [
      ...rules,
      { what: "a text size that is not a token", files: /\.tsx?$/, find: sizes },
    ]) {
      if (!files.test(name) || !find.test(line)) continue;
      console.error(`src/${name}:${i + 1}: ${what}: ${line.trim()}`);
      found++;
    }
  });
}

const columns = 120;
// Strings, regular expressions and templates cannot be broken, so they may make a line longer.
const unbreakable = /"(\\.|[^"\\])*"|`(\\.|[^`\\])*(`|$)|\/(\\.|[^/\\])+\//g;
const code = (await readdir(src, { recursive: true })).filter((n) => /\.tsx?$/.test(n) && !/\.test\.tsx?$/.test(n));
for (const name of code) {
  (await readFile(path.join(src, name), "utf8")).split("\n").forEach((line, i) => {
    if (line.length <= columns || line.replace(unbreakable, "").length <= columns / 2) return;
    console.error(`src/${name}:${i + 1}: ${line.length} columns; the maximum is ${columns}`);
    found++;
  });
}

const maxComplexity = 20;
const branching = new Set([
  "IfStatement",
  "ConditionalExpression",
  "LogicalExpression",
  "ForStatement",
  "ForInStatement",
  "ForOfStatement",
  "WhileStatement",
  "DoWhileStatement",
  "CatchClause",
]);
const isFunction = /^(FunctionDeclaration|FunctionExpression|ArrowFunctionExpression)$/;

/** Calls report with the complexity of each function below a node. outer is the function that contains the node. */
function measure(node, outer, report) {
  if (Array.isArray(node)) for (const n of node) measure(n, outer, report);
  if (typeof node?.type !== "string") return;
  const current = isFunction.test(node.type) ? { at: node.start, complexity: 1 } : outer;
  if (outer && (branching.has(node.type) || (node.type === "SwitchCase" && node.test))) outer.complexity++;
  for (const value of Object.values(node)) if (value && typeof value === "object") measure(value, current, report);
  if (current !== outer) report(current);
}

for (const name of code) {
  const text = await readFile(path.join(src, name), "utf8");
  const tree = parseAst(text, { lang: name.endsWith("x") ? "tsx" : "ts", sourceType: "module" });
  measure(tree.body, undefined, (f) => {
    if (f.complexity <= maxComplexity) return;
    const before = text.slice(0, f.at).split("\n");
    if (before.at(-2)?.startsWith("// complexity: ")) return; // the comment gives the reason
    console.error(
      `src/${name}:${before.length}: a function with complexity ${f.complexity}; the maximum is ${maxComplexity}`,
    );
    found++;
  });
}

const all = (await readdir(src, { recursive: true })).filter((n) => /\.tsx?$/.test(n));
const imports = new Map(); // the files that each file imports, including types and dynamic imports
for (const name of all) {
  const text = await readFile(path.join(src, name), "utf8");
  const found = [...text.matchAll(/(?:\bfrom|\bimport\(|^import)\s*"(\.[^"?]*)"/gm)].map((m) => {
    const file = path.join(path.dirname(name), m[1]);
    return [file, `${file}.ts`, `${file}.tsx`].find((f) => all.includes(f));
  });
  imports.set(name, new Set(found.filter(Boolean)));
}

// The folders of modules, each with the only import that is allowed.
const modules = { "market/": ["main.tsx", "market/index.ts"] };
for (const [folder, [importer, entry]] of Object.entries(modules)) {
  for (const [name, files] of imports) {
    if (name.startsWith(folder)) continue;
    for (const file of files) {
      if (!file.startsWith(folder) || (name === importer && file === entry)) continue;
      console.error(`src/${name}: imports ${file}; only ${importer} may import from ${folder}, and only ${entry}`);
      found++;
    }
  }
}

const done = new Set();
/** Reports the import cycles that are reachable from a file. trail has the files that lead to it. */
function follow(name, trail) {
  if (trail.includes(name)) {
    console.error(`src/${name}: an import cycle: ${[...trail.slice(trail.indexOf(name)), name].join(" → ")}`);
    found++;
  }
  if (done.has(name)) return;
  done.add(name);
  for (const file of imports.get(name)) follow(file, [...trail, name]);
}
for (const name of all) follow(name, []);

const tokens = await readFile(path.join(src, "tokens.css"), "utf8");
const text = new Set([...tokens.matchAll(/--text-([a-z0-9]+):\s/g)].map((m) => m[1]));
if (text.size > 6) {
  console.error(`src/tokens.css: ${text.size} text sizes; the maximum is six`);
  found++;
}
if (found) process.exit(1);
