// Takes the pictures of the README: an answer of the demo shop with a footnote open, in light and dark.
import { mkdir, stat } from "node:fs/promises";
import path from "node:path";
import { ask, close, open, serve } from "./harness.js";

const folder = path.resolve(import.meta.dirname, "../../docs/pictures");
const maxBytes = 200_000;

async function take(url, theme) {
  // Twice the width at which the README shows them.
  const page = await open(url, { theme, viewport: { width: 1440, height: 760 }, deviceScaleFactor: 1.25 });
  await ask(page, "Revenue by category");
  await page.getByRole("button", { name: "Hide the conversations" }).click();
  await page.getByRole("button", { name: /^€40,676.07 footnote 1/ }).click();
  await page
    .getByRole("dialog", { name: "Footnote of €40,676.07" })
    .getByText(/SELECT/)
    .waitFor();
  await page.locator(".chart:not([data-drawn])").first().waitFor({ state: "detached" });
  const file = path.join(folder, `footnote-${theme}.png`);
  await page.screenshot({ path: file });
  await page.done();
  const { size } = await stat(file);
  if (size > maxBytes) throw new Error(`${file} has ${size} bytes; keep it under ${maxBytes}`);
  console.log(`${path.relative(process.cwd(), file)}: ${size} bytes`);
}

await mkdir(folder, { recursive: true });
const server = await serve();
try {
  for (const theme of ["light", "dark"]) await take(server.url, theme);
} finally {
  await close();
  await server.stop();
}
