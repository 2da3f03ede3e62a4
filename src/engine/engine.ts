/** The services and state that the engine's modules share. */

import type pg from 'pg';
import type { Db } from '../db/connection/pool.ts';
import type { Delivery } from '../db/ledger/deliver/deliveries.ts';
import type { Queue } from '../db/ledger/round-robin.ts';
import type { Announcements } from '../lib/caching/announcements.ts';
import type { Batcher } from '../lib/load/batcher.ts';
import type { Traces } from '../lib/telemetry/traces.ts';
import type { ButtonsFor } from '../pipeline/buttons.ts';
import type { TrackMail } from '../pipeline/message-links.ts';
import type { MissingVariables } from '../pipeline/missing-variables.ts';
import type { Plans } from '../pipeline/plans.ts';
import type { RenderSnapshots } from '../pipeline/render-snapshots.ts';
import type { InboxWriter } from '../services/audience/inbox.ts';
import type { UsageMeter } from '../services/configuration/limits/usage-meter.ts';
import type { DigestCloser } from '../services/history/digests.ts';
import type { InstanceGuard } from '../services/operations/instance.ts';
import type { AttachmentFiles } from './attachments/files.ts';
import type { ChannelOutages } from './deliver/channel-outages.ts';
import type { DeliveryState } from './deliver/delivery-states.ts';
import type { Fence } from './deliver/fence.ts';
import type { GoneAddresses } from './deliver/gone-addresses.ts';
import type { Outcomes } from './deliver/outcomes.ts';
import type { Senders } from './deliver/senders.ts';
import type { DayLimits } from './limits/day-limits.ts';
import type { Limits } from './limits/limits.ts';
import type { Log } from './log.ts';
import type { Meters } from './telemetry/meters.ts';
import type { WorkMarker } from './work-marker.ts';

export interface Engine {
  db: Db;
  pool: pg.Pool;
  instance: InstanceGuard;
  /** One connection, for claims only: see `indexScansOnly`. */
  claims: pg.Pool;
  /** For the few statements that run for every message, also with `indexScansOnly`. */
  hot: pg.Pool;
  plans: Plans;
  senders: Senders;
  outages: ChannelOutages;
  /** Changes that can stop a message which is about to be sent, by organization. */
  stops: Announcements;
  /** Waits for the announcements of everything committed so far. Returns false if they cannot be received. */
  catchUp: () => Promise<boolean>;
  /** Reads the state again after such a change. */
  states: Batcher<Delivery, DeliveryState>;
  /** Whether this worker still owns what it is about to send. */
  fence: Fence;
  outcomes: Outcomes;
  goneAddresses: GoneAddresses;
  inbox: InboxWriter;
  digests: DigestCloser;
  snapshots: RenderSnapshots;
  attachments: AttachmentFiles;
  /** Returns the local part of the return path of a delivery. */
  returnPathOf: (delivery: Pick<Delivery, 'organization_id' | 'occurrence_id' | 'id'>) => string;
  /** Returns the buttons of a message, and where they are posted to. */
  buttonsFor: ButtonsFor;
  /** Undefined when the public address is not configured. */
  track: TrackMail | undefined;
  missingVariables: MissingVariables;
  usage: UsageMeter;
  limits: Limits;
  dayLimits: DayLimits;
  marker: WorkMarker;
  meters: Meters;
  log: Log;
  /** Whether the process is stopping: claimed deliveries that have not reached their provider are given back. */
  isStopping: boolean;
  /** Undefined when tracing is off. */
  traces: Traces | undefined;
  /** The organization that was served last, for each queue and priority class. */
  lastServed: Record<Queue, number[]>;
}
