import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

// The page and the API share one origin: paths that begin with /api go to Footnote.
// With API keys the key is added here, so that no browser ever holds it.
const key = process.env.FOOTNOTE_KEY;
const proxy = {
  '/api': {
    target: process.env.FOOTNOTE ?? 'http://127.0.0.1:8787',
    changeOrigin: true,
    headers: key ? { authorization: `Bearer ${key}` } : {},
    // Footnote accepts only same-origin pages, so the proxy sets the origin.
    configure: (p) => p.on('proxyReq', (req) => ['origin', 'referer', 'sec-fetch-site'].forEach((name) => req.removeHeader(name))),
  },
};

export default defineConfig({
  plugins: [react()],
  server: { proxy },
  preview: { proxy },
});
