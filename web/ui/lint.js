// Finds what goes around the tokens: colours and lengths outside src/tokens.css,
// arbitrary values in class names, and HTML put in as text. Then what is hard to read: long
// lines and functions with many branches. ESLint cannot read TypeScript 7 yet, so the
// branches are counted here, on the syntax tree of the bundler, as ESLint's rule counts them.
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

// Sizes of text beside the six of tokens.css.
const sizes = /\btext-(3xl|4xl|5xl|6xl|7xl)\b/;

let found = 0;
for (const name of await readdir(src, { recursive: true })) {
  if (!/\.(tsx?|css)$/.test(name) || name === "tokens.css" || /\.test\.tsx?$/.test(name)) continue;
  const lines = (await readFile(path.join(src, name), "utf8")).split("\n");
  lines.forEach((line, i) => {
    for (const { what, files, find } of [
      ...rules,
      { what: "a size of text that is no token", files: /\.tsx?$/, find: sizes },
    ]) {
      if (!files.test(name) || !find.test(line)) continue;
      console.error(`src/${name}:${i + 1}: ${what}: ${line.trim()}`);
      found++;
    }
  });
}

const columns = 120;
// What may stand in a longer line: a string, a pattern or a template, which cannot be broken.
const unbreakable = /"(\\.|[^"\\])*"|`(\\.|[^`\\])*(`|$)|\/(\\.|[^/\\])+\//g;
const code = (await readdir(src, { recursive: true })).filter((n) => /\.tsx?$/.test(n) && !/\.test\.tsx?$/.test(n));
for (const name of code) {
  (await readFile(path.join(src, name), "utf8")).split("\n").forEach((line, i) => {
    if (line.length <= columns || line.replace(unbreakable, "").length <= columns / 2) return;
    console.error(`src/${name}:${i + 1}: ${line.length} columns; ${columns} are enough`);
    found++;
  });
}

const branches = 20;
// Functions with more branches that are still to be taken apart. They may not grow.
const known = {
  "shell/Home.tsx": 24,
  "panes/statement.ts": 34,
  "panes/sql/SqlPane.tsx": 25,
  "panes/grid/Grid.tsx": 28,
  "panes/files/engine.ts": 24,
  "panes/chart/ChartPane.tsx": 31,
  "panes/chart/compile.ts": 42,
  "panes/chart/marks.ts": 27,
};
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

/** Calls report with each function below a node and the number of ways through it. */
function ways(node, inside, report) {
  if (Array.isArray(node)) for (const n of node) ways(n, inside, report);
  if (typeof node?.type !== "string") return;
  const here = isFunction.test(node.type) ? { at: node.start, ways: 1 } : inside;
  if (inside && (branching.has(node.type) || (node.type === "SwitchCase" && node.test))) inside.ways++;
  for (const value of Object.values(node)) if (value && typeof value === "object") ways(value, here, report);
  if (here !== inside) report(here);
}

for (const name of code) {
  const text = await readFile(path.join(src, name), "utf8");
  const tree = parseAst(text, { lang: name.endsWith("x") ? "tsx" : "ts", sourceType: "module" });
  ways(tree.body, undefined, (f) => {
    if (f.ways <= (known[name] ?? branches)) return;
    const before = text.slice(0, f.at).split("\n");
    if (before.at(-2)?.startsWith("// complexity: ")) return; // the line above says why it is clearer so
    console.error(`src/${name}:${before.length}: a function with ${f.ways} branches; ${branches} are enough`);
    found++;
  });
}

const only = "market/index"; // the one way into the folder of charts and markets
for (const name of code.filter((n) => !n.startsWith("market/"))) {
  for (const m of (await readFile(path.join(src, name), "utf8")).matchAll(/["']((?:\.\.?\/)+market\/[^"']*)["']/g)) {
    if (m[1].endsWith(only)) continue;
    console.error(`src/${name}: imports ${m[1]}; charts and markets have one entry, ${only}`);
    found++;
  }
}

const tokens = await readFile(path.join(src, "tokens.css"), "utf8");
const text = new Set([...tokens.matchAll(/--text-([a-z0-9]+):\s/g)].map((m) => m[1]));
if (text.size > 6) {
  console.error(`src/tokens.css: ${text.size} sizes of text; six are enough`);
  found++;
}
if (found) process.exit(1);
