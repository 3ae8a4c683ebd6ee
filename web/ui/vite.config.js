import { readdir, readFile, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";
import zlib from "node:zlib";
import tailwind from "@tailwindcss/vite";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

const out = path.resolve(import.meta.dirname, "../dist");

// What the Go program embeds is compressed already: it answers with these bytes.
const text = /\.(js|css|html|svg|json|wasm|txt)$/;
// Brotli's best takes long, so large files get less of it.
const large = 256 << 10;

function precompress() {
  const brotli = promisify(zlib.brotliCompress);
  async function pack(file) {
    const data = await readFile(file);
    const packed = await brotli(data, {
      params: {
        [zlib.constants.BROTLI_PARAM_QUALITY]: data.length <= large ? 11 : 9,
        [zlib.constants.BROTLI_PARAM_SIZE_HINT]: data.length,
      },
    });
    await writeFile(`${file}.br`, packed);
    await rm(file);
  }
  return {
    name: "precompress",
    apply: "build",
    async closeBundle() {
      const files = await readdir(out, { recursive: true });
      await Promise.all(files.filter((f) => text.test(f)).map((f) => pack(path.join(out, f))));
    },
  };
}

// In development the pages come from Vite and everything else from a running
// `footnote demo`: FOOTNOTE=http://127.0.0.1:8787 npm run dev
const server = process.env.FOOTNOTE ?? "http://127.0.0.1:8787";

const conversation = path.resolve(import.meta.dirname, "src/shell/ConversationPage.tsx");
let known;

/** Returns the modules that a conversation imports, directly or not. */
function needed(graph) {
  if (known) return known;
  known = new Set([conversation]);
  for (const id of known) for (const imported of graph.getModuleInfo(id)?.importedIds ?? []) known.add(imported);
  return known;
}

export default defineConfig({
  plugins: [react(), tailwind(), precompress()],
  build: {
    outDir: out,
    emptyOutDir: true,
    target: ["chrome123", "firefox121", "safari17.5"],
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    cssCodeSplit: false, // a style that once could not be had is not asked for again
    reportCompressedSize: false,
    chunkSizeWarningLimit: 40_000,
    rolldownOptions: {
      checks: { pluginTimings: false },
      // Every request costs a slow network half a second, so there is one file for the first page, and one for what a
      // conversation adds.
      output: {
        codeSplitting: {
          groups: [
            { name: "first", tags: ["$initial"], priority: 1 },
            { name: (id, graph) => (needed(graph).has(id) ? "conversation" : null) },
          ],
        },
      },
    },
  },
  worker: { format: "es" },
  server: { proxy: { "/api": { target: server, changeOrigin: true }, "/v1": { target: server, changeOrigin: true } } },
  test: { environment: "node" },
});
