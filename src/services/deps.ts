/** What every use case is given; made once, in app.ts. */

import type { NewOccurrence, Stored } from '../db/occurrences.ts';
import type { Db } from '../db/pool.ts';
import type { Batcher } from '../lib/batcher.ts';
import type { Cipher } from '../lib/cipher.ts';
import type { Providers } from '../providers/provider.ts';
import type { Directory } from './directory.ts';
import type { KeyUse } from './keys.ts';

export interface Deps {
  db: Db;
  directory: Directory;
  cipher: Cipher;
  providers: Providers;
  occurrences: Batcher<NewOccurrence, Stored>;
  keyUse: KeyUse;
}
