/** What the engine's parts share. */

import type pg from 'pg';
import type { Db } from '../db/pool.ts';
import type { Queue } from '../db/turns.ts';
import type { Traces } from '../lib/traces.ts';
import type { DigestCloser } from '../services/digests.ts';
import type { InboxWriter } from '../services/inbox.ts';
import type { InstanceGuard } from '../services/instance.ts';
import type { MissingVariables } from '../services/missing-variables.ts';
import type { Plans } from '../services/plans.ts';
import type { RenderSnapshots } from '../services/render-snapshots.ts';
import type { UsageMeter } from '../services/usage-meter.ts';
import type { Limits } from './limits.ts';
import type { Log } from './log.ts';
import type { Meters } from './meters.ts';
import type { Outcomes } from './outcomes.ts';
import type { Senders } from './senders.ts';
import type { WorkMarker } from './work-marker.ts';

export interface Engine {
  db: Db;
  pool: pg.Pool;
  instance: InstanceGuard;
  /** For claims alone, one at a time: see `byIndexAlone`. */
  claims: pg.Pool;
  /** For the few statements that every message costs a part of; by index alone too. */
  hot: pg.Pool;
  plans: Plans;
  senders: Senders;
  outcomes: Outcomes;
  inbox: InboxWriter;
  digests: DigestCloser;
  snapshots: RenderSnapshots;
  missingVariables: MissingVariables;
  usage: UsageMeter;
  limits: Limits;
  marker: WorkMarker;
  meters: Meters;
  log: Log;
  /** Undefined where nothing is traced. */
  traces: Traces | undefined;
  /** For each queue and class of priority, the organization that had the last turn. */
  turns: Record<Queue, number[]>;
}
