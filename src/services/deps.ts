/** The dependencies of every use case, created once in app.ts. */

import type pg from 'pg';
import type { FeedbackReader, MailReport } from '../core/feedback/event.ts';
import type { Actor } from '../core/identity/actor.ts';
import type { Db } from '../db/connection/pool.ts';
import type { FairBudget } from '../lib/load/fair-budget.ts';
import type { FairSlots } from '../lib/load/fair-slots.ts';
import type { Outbound } from '../lib/network/outbound.ts';
import type { Cipher } from '../lib/secrets/cipher.ts';
import type { Keyring } from '../lib/secrets/keyring.ts';
import type { Signer } from '../lib/secrets/signer.ts';
import type { Traces } from '../lib/telemetry/traces.ts';
import type { Plans } from '../pipeline/plans.ts';
import type { Rendering } from '../pipeline/rendering/rendering.ts';
import type { Providers } from '../providers/provider.ts';
import type { AwsRole } from '../providers/sending.ts';
import type { InboxStreams } from './audience/inbox-streams.ts';
import type { CalendarReader } from './audience/on-call/calendars/reader.ts';
import type { ContextSchemas } from './configuration/checks/context-schemas.ts';
import type { DomainCheckLimits } from './configuration/checks/domain-check-limits.ts';
import type { TriggerCounts } from './configuration/limits/trigger-counts.ts';
import type { UsageMeter } from './configuration/limits/usage-meter.ts';
import type { TenantCache } from './configuration/paths/tenant-cache.ts';
import type { AcknowledgementTimes } from './history/acknowledgements/acknowledgement-times.ts';
import type { HeartbeatCalls } from './history/heartbeats/call-store.ts';
import type { CallCounter } from './history/levels/call-counts.ts';
import type { SourceStore } from './history/sources/source-store.ts';
import type { TriggerStore } from './history/trigger-store.ts';
import type { KeyUse } from './identity/key-use.ts';
import type { Mailer } from './identity/mail.ts';
import type { SignIn } from './identity/sign-in/sign-in-state.ts';
import type { ReplicaReads } from './operations/replica-reads.ts';

export interface Deps {
  db: Db;
  tenantCache: TenantCache;
  contextSchemas: ContextSchemas;
  domainCheckLimits: DomainCheckLimits;
  cipher: Cipher;
  /** The passphrases behind the cipher and the signer. */
  keyring: Keyring;
  /** Signs the links that recipients follow without an account. */
  signer: Signer;
  providers: Providers;
  /** Readers of what services report, by name. */
  feedbackReaders: Readonly<Record<string, FeedbackReader>>;
  /** Reads mails in threads. */
  mailReader: { read(organizationId: number, bytes: Buffer): Promise<MailReport> };
  /** Reads calendars of users in threads. */
  calendarReader: Pick<CalendarReader, 'read'>;
  /** Calendars that are being fetched: each holds a file. */
  calendarSlots: FairSlots;
  triggers: TriggerStore;
  sources: SourceStore;
  heartbeats: HeartbeatCalls;
  /** Calls of senders, for the service levels. */
  calls: CallCounter;
  acknowledgementTimes: AcknowledgementTimes;
  keyUse: KeyUse;
  /** Usage per organization, for enforcing limits. */
  usage: UsageMeter;
  /** Triggers that this process has accepted, for the rate guard. */
  triggerCounts: TriggerCounts;
  signIn: SignIn;
  /** Imports and pages of exports: each takes a connection that requests need too. */
  bulk: FairSlots;
  /** Test messages that are being sent, each with its own connection. */
  testSends: FairBudget;
  /** Sends Belfry's own mail: invites, password resets and what a guard holds. Undefined without a mail server. */
  mailer: Mailer | undefined;
  plans: Plans;
  rendering: Rendering;
  /** Inbox streams that are open in this process. */
  inboxStreams: InboxStreams;
  /** HTTP client for test sends; workers have their own. */
  outbound: Outbound;
  /** The host name of BASE_URL, by which test sends introduce themselves to mail servers. */
  hostName?: string | undefined;
  /** The AWS role of this process, for test sends of the organizations that may use it. */
  awsRole?: AwsRole | undefined;
  /** Occurrences ended by this process, counted by outcome, for the metrics. */
  endedByOutcome: Map<string, number>;
  /** Feedback received by this process, counted by `source type`, for the metrics. */
  feedbackCounts: Map<string, number>;
  /** Undefined if tracing is off. */
  traces: Traces | undefined;
  /** Who makes the changes, for the audit log: the caller of a request, else the command line. */
  actor: Actor;
  /** Throws if what allowed the request has ended in the meantime. Absent outside requests. */
  requireAdmitted?: () => void;
  /** Undefined without replicas. */
  replicaReads: ReplicaReads | undefined;
  /** For the few statements that do not go through Kysely. */
  pool: pg.Pool;
}
