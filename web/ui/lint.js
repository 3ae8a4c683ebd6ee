// Finds what goes around the tokens: colours and lengths outside src/tokens.css,
// arbitrary values in class names, and HTML put in as text.
import { readdir, readFile } from "node:fs/promises";
import path from "node:path";

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

const tokens = await readFile(path.join(src, "tokens.css"), "utf8");
const text = new Set([...tokens.matchAll(/--text-([a-z0-9]+):\s/g)].map((m) => m[1]));
if (text.size > 6) {
  console.error(`src/tokens.css: ${text.size} sizes of text; six are enough`);
  found++;
}
if (found) process.exit(1);
