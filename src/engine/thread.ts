/** Where the engine's thread begins: libraries are read from their bundles here too. */
import { preferBundles } from '../libraries.ts';

preferBundles();
await import('./run.ts');
