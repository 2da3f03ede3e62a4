/** What every use case is given; made once, in app.ts. */

import type pg from 'pg';
import type { Actor } from '../core/actor.ts';
import type { NewOccurrence, StoredOccurrence } from '../db/accepting.ts';
import type { KeyedOccurrence } from '../db/dedup.ts';
import type { Db } from '../db/pool.ts';
import type { Batcher } from '../lib/batcher.ts';
import type { Cipher } from '../lib/cipher.ts';
import type { Keyring } from '../lib/keyring.ts';
import type { Outbound } from '../lib/outbound.ts';
import type { Signer } from '../lib/signer.ts';
import type { Traces } from '../lib/traces.ts';
import type { Providers } from '../providers/provider.ts';
import type { AcknowledgementTimes } from './acknowledgement-times.ts';
import type { ContextSchemas } from './context-schemas.ts';
import type { InboxStreams } from './inbox-streams.ts';
import type { KeyUse } from './key-use.ts';
import type { Mailer } from './mail.ts';
import type { Plans } from './plans.ts';
import type { Rendering } from './rendering.ts';
import type { SignIn } from './sign-in-state.ts';
import type { TenantCache } from './tenant-cache.ts';
import type { UsageMeter } from './usage-meter.ts';

export interface Deps {
  db: Db;
  tenantCache: TenantCache;
  contextSchemas: ContextSchemas;
  cipher: Cipher;
  /** What the cipher and the signatures are made with. */
  keyring: Keyring;
  /** For the links that recipients follow without an account. */
  signer: Signer;
  providers: Providers;
  occurrences: Batcher<NewOccurrence, StoredOccurrence>;
  /** Those with a `dedup_key`. */
  keyedOccurrences: Batcher<KeyedOccurrence, StoredOccurrence>;
  acknowledgementTimes: AcknowledgementTimes;
  keyUse: KeyUse;
  /** What organizations take, for their limits. */
  usage: UsageMeter;
  signIn: SignIn;
  /** For Belfry's own mails, if there is a mail server for them. */
  mailer: Mailer | undefined;
  plans: Plans;
  rendering: Rendering;
  /** The streams of inboxes that this process has open. */
  inboxStreams: InboxStreams;
  /** For the messages that are sent to try something out; workers have a client of their own. */
  outbound: Outbound;
  /** Occurrences that this process has ended itself, by outcome: for the metrics. */
  ended: Map<string, number>;
  /** Where triggers are traced; undefined where nothing is. */
  traces: Traces | undefined;
  /** Who changes things with these: the caller of a request, else the command line. */
  actor: Actor;
  /** For the few statements that change many rows at once. */
  pool: pg.Pool;
}
