/** The services and state that the engine's modules share. */

import type pg from 'pg';
import type { Db } from '../db/connection/pool.ts';
import type { UsageMeter } from '../services/configuration/usage-meter.ts';
import type { InstanceGuard } from '../services/operations/instance.ts';
import type { ChannelOutages } from './deliver/channel-outages.ts';
import type { DeliverTools } from './deliver/deliver.ts';

export interface Engine extends DeliverTools {
  db: Db;
  pool: pg.Pool;
  instance: InstanceGuard;
  outages: ChannelOutages;
  /** Waits for the announcements of everything committed so far. Returns false if they cannot be received. */
  catchUp: () => Promise<boolean>;
  usage: UsageMeter;
}
