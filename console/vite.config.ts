import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

export default defineConfig({
  root: import.meta.dirname,
  plugins: [react()],
  // The server replaces this with a fresh nonce in every response.
  html: { cspNonce: '{{nonce}}' },
  build: {
    outDir: 'dist',
    manifest: 'manifest.json',
    // Separate files are cached and need no exception in the Content-Security-Policy.
    assetsInlineLimit: 0,
    // All of these support `light-dark()`; transpiled for older browsers, it would no longer follow the selected color
    // scheme.
    cssTarget: ['chrome123', 'firefox120', 'safari17.5'],
    reportCompressedSize: false,
    chunkSizeWarningLimit: 1_000,
    // Modules shared by six or more pages go into one file. Without this there is one file for each combination of
    // pages: the overview loaded 73 files.
    rolldownOptions: { output: { codeSplitting: { groups: [{ name: 'shared', minShareCount: 6 }] } } },
  },
  // `npm run console:dev` uses a service that runs on port 8000.
  server: { proxy: { '/api': 'http://127.0.0.1:8000', '/pages': 'http://127.0.0.1:8000' } },
});
