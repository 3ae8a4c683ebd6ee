import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

// The page and the API share one origin: paths that begin with /api go to Footnote.
// With API keys the key is added here, so that no browser ever holds it. Sec-Fetch-Site
// is forwarded, so Footnote accepts requests from this page and rejects those from other
// sites.
const key = process.env.FOOTNOTE_KEY;
const proxy = {
  '/api': {
    target: process.env.FOOTNOTE ?? 'http://127.0.0.1:8787',
    changeOrigin: true,
    headers: key ? { authorization: `Bearer ${key}` } : {},
  },
};

// The worker for model-written code may only compute. Your own server must send the same
// header for it.
const policy = "default-src 'none'; script-src 'unsafe-eval'; sandbox allow-scripts";
const sandbox = {
  name: 'sandbox-policy',
  configurePreviewServer(server) {
    server.middlewares.use((req, res, next) => {
      if (/\/assets\/sandbox-/.test(req.url)) res.setHeader('Content-Security-Policy', policy);
      next();
    });
  },
};

export default defineConfig({
  plugins: [react(), sandbox],
  worker: { format: 'es' },
  build: { chunkSizeWarningLimit: 1000, assetsInlineLimit: 0 },
  server: { proxy },
  preview: { proxy },
});
