import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

export default defineConfig({
  root: import.meta.dirname,
  plugins: [react()],
  // The server puts a fresh one in its place with every answer.
  html: { cspNonce: '{{nonce}}' },
  build: {
    outDir: 'dist',
    manifest: 'manifest.json',
    // Files of their own are cached and need no exception in the Content-Security-Policy.
    assetsInlineLimit: 0,
    // Where `light-dark()` is known; rewritten for older ones, it would no longer follow the chosen look.
    cssTarget: ['chrome123', 'firefox120', 'safari17.5'],
    reportCompressedSize: false,
    chunkSizeWarningLimit: 1_000,
    // What four pages or more have in common is one file. Left alone it is a file for each combination of pages: the overview
    // was 73 of them, and is 12 with 2 % more bytes.
    rolldownOptions: { output: { codeSplitting: { groups: [{ name: 'shared', minShareCount: 4 }] } } },
  },
  // With `npm run console:dev`, beside a service that runs as usual.
  server: { proxy: { '/api': 'http://127.0.0.1:8000', '/pages': 'http://127.0.0.1:8000' } },
});
