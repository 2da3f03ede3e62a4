/** Checks tenant isolation in the code and in the live schema. */
import { sql } from 'kysely';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Runtime } from '../../src/app.ts';
import { testDatabase } from '../support/database.ts';
import { sources as files, layerOf, textOf } from '../support/sources.ts';

/** Files without tenant data: connections, migrations, partitions, and applications' databases. */
const infrastructure = /^db\/(connection\/.*|operations\/(outbox|instance|backup|restore))\.ts$/;

/** Functions that cross tenants, with the reason. */
const acrossTenants: Record<string, string> = {
  addSuppressedAcrossTenants: 'one statement counts a batch of anybody’s deliveries',
  addMissingVariablesAcrossTenants: 'one statement notes what anybody’s messages lacked',
  claimHoldAcrossTenants: 'workers count the recipients of anybody’s held occurrences',
  listExpiredHoldsAcrossTenants: 'workers end anybody’s holds that no one decided in time',
  endHoldsOfEndedAcrossTenants: 'workers end the holds of anybody’s occurrences that have ended',
  deleteOldHoldsAcrossTenants: 'maintenance',
  summarizeHoldsAcrossTenants: 'how the whole installation does',
  summarizeHeartbeatsAcrossTenants: 'how the whole installation does',
  summarizeWatchesAcrossTenants: 'how the whole installation does',
  listLevelSumsAcrossTenants: 'how the whole installation does',
  addCallCountsAcrossTenants: 'one statement adds what a process has counted for all organizations',
  deleteOldWritersAcrossTenants: 'maintenance',
  findNextWatchDueAcrossTenants: 'every process looks after the watches of all organizations',
  claimDueWatchesAcrossTenants: 'every process looks after the watches of all organizations',
  listOrganizationsOnCallAcrossTenants: 'how the whole installation does',
  claimDueTestsAcrossTenants: 'every process sends the test pages of all organizations',
  claimGuardMailsAcrossTenants: 'every process mails the members of all organizations',
  deleteOldGuardMailsAcrossTenants: 'maintenance',
  claimCalendarAcrossTenants: 'workers fetch the calendars of all organizations',
  listFailingCalendarsAcrossTenants: 'how the whole installation does',
  findNextShiftDueAcrossTenants: 'every process announces the hand-overs of all organizations',
  lockDueSchedulesAcrossTenants: 'every process announces the hand-overs of all organizations',
  claimNoticesAcrossTenants: 'every process announces the hand-overs of all organizations',
  findNextGroupDueAcrossTenants: 'every worker sends the groups of all organizations',
  claimGroupAcrossTenants: 'every worker sends the groups of all organizations',
  summarizeGroupsAcrossTenants: 'how the whole installation does',
  recordSilencedAcrossTenants: 'one statement records what anybody’s silences hold or suppress',
  extendSilencedAcrossTenants: 'one statement moves the end of anybody’s escalations that are silenced',
  releaseSilencedAcrossTenants: 'workers release what was held while anybody’s silence was being ended',
  deleteOldAudiencesAcrossTenants: 'maintenance',
  storeRatesAcrossTenants: 'one statement counts anybody’s triggers',
  deleteOldRatesAcrossTenants: 'maintenance',
  storeAudiencesAcrossTenants: 'one statement notes how large anybody’s audiences were',
  claimDeliveriesAcrossTenants: 'workers serve everybody, by turns',
  claimExpandingAcrossTenants: 'workers serve everybody, by turns',
  claimMailboxAcrossTenants: 'workers poll the mailboxes of all organizations',
  listMailboxChannelsAcrossTenants: 'workers poll the mailboxes of all organizations',
  claimStepsAcrossTenants: 'workers serve everybody, by turns',
  beginStepsAcrossTenants: 'one statement plans the first steps of a batch of anybody’s occurrences',
  reopenAcrossTenants: 'the acknowledgements that end with the pages of claimed steps',
  storeStepPagesAcrossTenants: 'the pages of claimed steps, whoever they belong to',
  releaseStepsAcrossTenants: 'what a dead worker held, whoever it belongs to',
  storeNewStepsAcrossTenants: 'one statement stores a batch of anybody’s steps',
  findClaimsAcrossTenants: 'one statement looks up a batch of anybody’s idempotency keys',
  storeKeyedAcrossTenants: 'one transaction stores a batch of anybody’s triggers',
  deleteOldDedupKeysAcrossTenants: 'maintenance',
  deleteOldStepsAcrossTenants: 'maintenance',
  lockAcceptedAcrossTenants: 'workers serve all organizations, in turns',
  storeFirstPagesAcrossTenants: 'stores the pages of all occurrences that were locked together',
  storeMoreAcrossTenants: 'the rest of the pages that one statement stores for anybody',
  storeDecidedAcrossTenants: 'one statement stores a batch of anybody’s triggers, with their deliveries',
  expandByPagesAcrossTenants: 'the occurrences of one claim, whichever organizations they belong to',
  lockRunsAcrossTenants: 'the runs of one claim, whichever organizations they belong to',
  releaseRunsAcrossTenants: 'gives back runs of one claim, whichever organizations they belong to',
  findDueAcrossTenants: 'where anybody has work waiting',
  findRecipientsByNameAcrossTenants: 'whom a batch of anybody’s occurrences names',
  claimTheseAcrossTenants: 'a worker fetches back what it put aside for limits of anybody’s channels',
  countPromotionalEventsAcrossTenants: 'the public address is the whole installation’s',
  countTrackedCategoriesAcrossTenants: 'the public address is the whole installation’s',
  releaseExpiredAcrossTenants: 'workers serve all organizations, in turns',
  countAcknowledgeLinksAcrossTenants: 'the public address is the whole installation’s',
  deleteOldStatisticsAcrossTenants: 'maintenance',
  deleteOldThrottleUsesAcrossTenants: 'maintenance',
  addItemsAcrossTenants: 'one statement counts a batch of anybody’s items',
  countCriticalAlertsAcrossTenants: 'part of closeDigests',
  joinBundlesAcrossTenants: 'part of sending: alerts that have waited',
  openNextBundlesAcrossTenants: 'part of closeDigests',
  closeDigestsAcrossTenants: 'what a claimed batch of anybody’s digests has gathered',
  deleteExpiredSuppressionsAcrossTenants: 'maintenance',
  deleteOldDigestsAcrossTenants: 'maintenance',
  discardWebhookMessagesAcrossTenants: 'what anybody’s webhooks were to be told when a database was copied',
  discardSourceUpdatesAcrossTenants: 'requests to anybody’s senders that were waiting when a database was copied',
  listWaitingSourceUpdatesAcrossTenants: 'workers serve everybody; one row of each organization is read',
  discardUpdatesAcrossTenants: 'messages that anybody’s occurrences would have changed when a database was copied',
  listWaitingUpdatesAcrossTenants: 'workers serve everybody; one row of each organization is read',
  settleUpdatesAcrossTenants: 'one statement notes what came of a batch of anybody’s updates',
  dropStaleItemsAcrossTenants: 'what a claimed batch of anybody’s digests has lost meanwhile',
  fillDigestsAcrossTenants: 'one statement adds a batch of anybody’s items',
  findDigestsAcrossTenants: 'the same statement form as for a batch of anybody’s',
  lockDigestsAcrossTenants: 'before a batch of anybody’s digests is changed',
  lockDigestsOfAcrossTenants: 'what a dead worker was sending, whoever it belongs to',
  openDigestsAcrossTenants: 'one statement adds a batch of anybody’s items',
  settleDigestsAcrossTenants: 'one statement settles a batch of anybody’s digests',
  findThrottleUsesAcrossTenants: 'the same statement form as for a batch of anybody’s',
  lockThrottleUsesAcrossTenants: 'one statement counts a batch of anybody’s deliveries',
  storeThrottleUsesAcrossTenants: 'one statement counts a batch of anybody’s deliveries',
  findOccurrencesAcrossTenants: 'what a claimed batch of deliveries belongs to',
  findOrganizationsAcrossTenants: 'a declarative file may hold several organizations',
  findRecipientsAcrossTenants: 'whom a claimed batch of deliveries goes to',
  findSuppressionsAcrossTenants: 'which addresses of a claimed batch are not sent to',
  listClaimedAcrossTenants: 'what one worker claimed, whoever it belongs to',
  listDeadWorkersAcrossTenants: 'workers are no tenant’s',
  listLiveWorkersAcrossTenants: 'workers are no tenant’s',
  noteRoundAcrossTenants: 'workers are no tenant’s',
  deleteOldRoundsAcrossTenants: 'workers are no tenant’s',
  countGuardedAcrossTenants: 'a metric of the whole installation',
  countBulkPausedAcrossTenants: 'a metric of the whole installation',
  deleteOldReportCountsAcrossTenants: 'maintenance',
  deleteOldSignaturesAcrossTenants: 'maintenance',
  countDueAcrossTenants: 'the backlog of the whole installation',
  listOldestDueAcrossTenants: 'workers serve all tenants; reads one row per organization',
  listRetentionsAcrossTenants: 'maintenance: what each organization keeps',
  listSealedAcrossTenants: 'the key that encrypts is the whole installation’s',
  listShorterRetentionsAcrossTenants: 'maintenance: which organizations keep less',
  listUnsummedAcrossTenants: 'maintenance: whose days are to be summed',
  lockConfigurationAcrossTenants: 'the organization may not exist yet',
  releasePausedAcrossTenants: 'maintenance',
  releaseOccurrencesAcrossTenants: 'what a dead worker held, whoever it belongs to',
  queryMonthAcrossTenants: 'runs statements for batches of any tenants',
  settleDeliveriesAcrossTenants: 'one statement settles a batch of anybody’s deliveries',
  settleUnknownAcrossTenants: 'what a dead worker was sending, whoever it belongs to',
  holdUnknownAcrossTenants: 'what was being sent when the database was copied, whoever it belongs to',
  listUnfinishedAcrossTenants: 'what a copied database must not send, whoever it belongs to',
  storePageAcrossTenants: 'the page of a claimed occurrence, whoever it belongs to',
  listInboxChangesAcrossTenants: 'one statement reads for streams of anybody’s inboxes',
  listInstanceWebhooksAcrossTenants: 'the operator asks which webhooks are told of every organization',
  storeInboxMessagesAcrossTenants: 'one statement stores a batch of anybody’s messages',
  findKeyAcrossTenants: 'a key is presented before anyone knows whose it is',
  touchKeysAcrossTenants: 'one statement notes the use of all keys',
  reserveDeliveryIdsAcrossTenants: 'takes numbers from the sequence, which all organizations share',
  resolvePathAcrossTenants: 'a path names its organization by slug; admission compares it with the key',
  inheritAcrossTenants: 'a worker takes over what it held under an earlier identity',
  storeOccurrencesAcrossTenants: 'one statement stores a batch of anybody’s triggers',
  deleteOldAuditAcrossTenants: 'maintenance',
  deleteOldIdempotencyKeysAcrossTenants: 'maintenance',
  listOrganizationsAcrossTenants: 'the command line exports all of them',
  createOrganizationAcrossTenants: 'there is no organization yet',
  createAccountAcrossTenants: 'a person may be a member of several organizations',
  createSessionAcrossTenants: 'a person signs in, whichever organizations they are a member of',
  deleteAccountAcrossTenants: 'a person may be a member of several organizations',
  deleteOldAttemptsAcrossTenants: 'maintenance',
  deleteOldInvitesAcrossTenants: 'maintenance',
  deleteOldSessionsAcrossTenants: 'maintenance',
  deleteSessionAcrossTenants: 'a person signs out',
  endSessionsAcrossTenants: 'a person signs out everywhere',
  hasSessionAcrossTenants: 'a person changes how they sign in',
  deleteResetsAcrossTenants: 'of a person, whichever organizations they are a member of',
  findAccountAcrossTenants: 'an email is given before anyone knows whose it is',
  findAccountBySubjectAcrossTenants: 'an identity provider knows nothing of organizations',
  findInviteAcrossTenants: 'the link of an invite names no organization',
  findSessionAcrossTenants: 'a cookie is presented before anyone knows whose it is',
  forgetAttemptsAcrossTenants: 'about an email, whoever it belongs to',
  findAccountByIdAcrossTenants: 'a person may be a member of several organizations',
  listAccountsAcrossTenants: 'for the operator, at the command line',
  listAccountsOfIssuerAcrossTenants: 'for the operator, after the identity provider was changed',
  countMembershipsAcrossTenants: 'an account that belongs to several organizations is unlinked by no single one',
  listInvitesForAcrossTenants: 'whoever invited the owner of an email',
  listAccessibleOrganizationsAcrossTenants: 'the organizations of one person',
  takeAttemptAcrossTenants: 'about an email, whoever it belongs to',
  clearTotpAcrossTenants: 'of a person, whichever organizations they are a member of',
  confirmSessionAcrossTenants: 'a person proves who they are',
  createPasskeyAcrossTenants: 'of a person, whichever organizations they are a member of',
  createResetAcrossTenants: 'a person may be a member of several organizations',
  deleteOldChallengesAcrossTenants: 'maintenance',
  deleteOldResetsAcrossTenants: 'maintenance',
  deletePasskeyAcrossTenants: 'of a person, whichever organizations they are a member of',
  endSessionAcrossTenants: 'a person ends one of their own sessions',
  findPasskeyAcrossTenants: 'a passkey is presented before anyone knows whose it is',
  findResetAcrossTenants: 'the link of a password reset names nobody',
  getConfirmationAcrossTenants: 'a person proves who they are',
  getTwoFactorAcrossTenants: 'of a person, whichever organizations they are a member of',
  listPasskeysAcrossTenants: 'of a person, whichever organizations they are a member of',
  listSessionsAcrossTenants: 'of a person, whichever organizations they are a member of',
  findAccountForUpdateAcrossTenants: 'a person may be a member of several organizations',
  removeFactorsAcrossTenants: 'of a person, whichever organizations they are a member of',
  replacePasswordHashAcrossTenants: 'of a person, whichever organizations they are a member of',
  renamePasskeyAcrossTenants: 'of a person, whichever organizations they are a member of',
  replaceRecoveryCodesAcrossTenants: 'of a person, whichever organizations they are a member of',
  listSealedTotpAcrossTenants: 'whoever has an authenticator app, for a new secret key',
  replaceTotpAcrossTenants: 'a person may be a member of several organizations',
  setTotpAcrossTenants: 'of a person, whichever organizations they are a member of',
  takeChallengeAcrossTenants: 'about a challenge, whoever answered it',
  takeRecoveryCodeAcrossTenants: 'of a person, whichever organizations they are a member of',
  takeResetAcrossTenants: 'a person may be a member of several organizations',
  takeTotpStepAcrossTenants: 'of a person, whichever organizations they are a member of',
  touchPasskeyAcrossTenants: 'of a person, whichever organizations they are a member of',
  touchSessionsAcrossTenants: 'one statement notes the use of all sessions',
  updateAccountAcrossTenants: 'a person may be a member of several organizations',
  countWebhooksAcrossTenants: 'how the whole installation does',
  hasActiveWebhooksAcrossTenants: 'whether anybody has a webhook that is to be told',
  listDueWebhooksAcrossTenants: 'workers serve everybody; one row of each webhook is read',
  listMessageOwnersAcrossTenants: 'maintenance',
  listOutagesAcrossTenants: 'channels of anybody that a worker may find to have recovered',
  findHeartbeatAcrossTenants: 'a token is presented before anyone knows whose it is',
  storeCallsAcrossTenants: 'one transaction stores a batch of any organizations’ calls',
  storeLockedStatesAcrossTenants: 'one statement stores a batch of any organizations’ states',
  noteReceivingAcrossTenants: 'whether calls can be received is no tenant’s',
  findNextDueAcrossTenants: 'processes serve all organizations',
  claimDueAcrossTenants: 'processes serve all organizations',
  settleActionsAcrossTenants: 'one statement stores what was done for a batch of any organizations’ heartbeats',
  findSourceAcrossTenants: 'a token is presented before anyone knows whose it is',
  storePayloadsAcrossTenants: 'one statement stores a batch of any organizations’ payloads',
  settlePayloadsAcrossTenants: 'one statement stores what became of a batch of any organizations’ payloads',
  claimOpenPayloadsAcrossTenants: 'payloads of a process that died, of all organizations',
  deleteOldPayloadsAcrossTenants: 'maintenance',
  findAlertsAcrossTenants: 'one statement looks up a batch of any organizations’ alerts',
  storeOpenAlertsAcrossTenants: 'one statement stores a batch of any organizations’ alerts',
  deleteOlderAcrossTenants: 'maintenance',
  settleWebhookMessagesAcrossTenants: 'one statement notes what came of a batch of anybody’s messages',
  findWebhookBacklogAcrossTenants: 'the backlog of the whole installation',
  listUnmatchedOwnersAcrossTenants: 'maintenance',
  findFeedbackChannelAcrossTenants: 'a token is presented before its channel is known',
  describeServerAcrossTenants: 'about the database itself',
  isDiskFullAcrossTenants: 'about the database itself',
  claimUnexpandedAcrossTenants: 'workers serve all organizations, in turns',
  findOrganizationToMoveAcrossTenants: 'the command line names the organization by slug',
  listMovedOrganizationsAcrossTenants: 'the organizations of one person',
  listMovesAcrossTenants: 'every process has to know which organizations are in another cell',
  listSealedSamplesAcrossTenants: 'the key that encrypts is the whole installation’s',
  findSameAccountAcrossTenants: 'a member may have an account in the other cell already',
  createMovedAccountAcrossTenants: 'of a person, whichever organizations they are a member of',
  setMovedIdentityAcrossTenants: 'of a person, whichever organizations they are a member of',
  addMovedFactorsAcrossTenants: 'of a person, whichever organizations they are a member of',
  listRecoveryCodesAcrossTenants: 'of a person, whichever organizations they are a member of',
  recoverMovesAcrossTenants: 'maintenance: of organizations whose move was interrupted',
};

describe('tenancy', () => {
  const exported = files
    .filter(file => layerOf(file) === 'db' && !infrastructure.test(file))
    .flatMap(file =>
      [
        ...textOf(file).matchAll(
          /^export (?:async )?(?:function\*?|const) (\w+)(?:<[^(]*>)?(?: = (?:async )?)?\(([^)]*)/gm,
        ),
      ].map(([, name, parameters]) => ({ file, name: name!, parameters: parameters!.replaceAll(/\s+/g, ' ').trim() })),
    );

  test('every query function takes the organization after the database, or its name ends in AcrossTenants', () => {
    const asking = exported.filter(({ parameters }) =>
      /\b(Db|Pool|PoolClient|Client|Kysely|Transaction)\b/.test(parameters),
    );
    const wrong = asking
      .filter(({ name }) => !name.endsWith('AcrossTenants') && name !== 'inLedgerTransaction')
      .filter(
        ({ parameters }) =>
          !/^(db: Db|pool: pg\.Pool|client: pg\.PoolClient), organizationId: number\b/.test(parameters),
      )
      .map(({ file, name }) => `${file}: ${name} must begin with (db: Db, organizationId: number`);
    expect(wrong).toEqual([]);
    expect(asking.length).toBeGreaterThan(25);
  });

  test('every function that crosses tenants is on the list, with a reason', () => {
    const crossing = exported.map(({ name }) => name).filter(name => name.endsWith('AcrossTenants'));
    expect(crossing.sort()).toEqual(Object.keys(acrossTenants).sort());
  });
});

describe('the schema', () => {
  let runtime: Runtime;
  beforeAll(async () => {
    runtime = await testDatabase();
  });
  afterAll(() => runtime.close());

  interface Constraint {
    table: string;
    name: string;
    kind: 'p' | 'u' | 'f';
    columns: string[];
    target: string | null;
    target_columns: string[] | null;
  }

  async function constraints(): Promise<Constraint[]> {
    const { rows } = await sql<Constraint>`
      select c.conrelid::regclass::text as table, c.conname as name, c.contype as kind,
        (select array_agg(a.attname::text order by k.at) from unnest(c.conkey) with ordinality as k (number, at)
          join pg_attribute a on a.attrelid = c.conrelid and a.attnum = k.number) as columns,
        nullif(c.confrelid, 0)::regclass::text as target,
        (select array_agg(a.attname::text order by k.at) from unnest(c.confkey) with ordinality as k (number, at)
          join pg_attribute a on a.attrelid = c.confrelid and a.attnum = k.number) as target_columns
      from pg_constraint c join pg_class t on t.oid = c.conrelid
      where t.relnamespace = 'public'::regnamespace and c.contype in ('p', 'u', 'f') and not t.relispartition
        and t.relname not like 'belfry\_migrations%'`.execute(runtime.deps.db);
    return rows;
  }

  /**
   * What belongs to no tenant: the tenants themselves, the processes that serve them, and the people who work with one
   * or several of them, with their sessions, their ways to sign in and their failures to do so.
   */
  const withoutTenant = [
    'organizations',
    'worker_rounds',
    'heartbeat_watch',
    'service_level_writers',
    'instance',
    'accounts',
    'sessions',
    'sign_in_attempts',
    'sign_in_limits',
    'passkeys',
    'recovery_codes',
    'password_resets',
    'used_challenges',
  ];

  test('every table belongs to a tenant, except for a short list', async () => {
    const { rows } = await sql<{ name: string }>`
      select relname as name from pg_class t
      where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition
        and relname not like 'belfry\_migrations%'
        and not exists (select from pg_attribute a
          where a.attrelid = t.oid and a.attname = 'organization_id' and a.attnotnull)`.execute(runtime.deps.db);
    expect(rows.map(row => row.name).filter(name => !withoutTenant.includes(name))).toEqual([]);
  });

  test('primary keys and unique constraints of tenant tables begin with the organization', async () => {
    const wrong = (await constraints())
      .filter(({ kind, table }) => kind !== 'f' && !withoutTenant.includes(table))
      .filter(({ columns }) => columns[0] !== 'organization_id');
    expect(wrong.map(({ table, name, columns }) => `${table}.${name} (${columns})`)).toEqual([]);
  });

  test('unique indexes of tenant tables begin with the organization', async () => {
    const { rows } = await sql<{ name: string }>`
      select i.indexrelid::regclass::text as name from pg_index i join pg_class t on t.oid = i.indrelid
      where t.relnamespace = 'public'::regnamespace and i.indisunique and not t.relispartition
        and t.relname not like 'belfry\_migrations%' and t.relname <> all(${withoutTenant}::text[])
        and (select attname from pg_attribute a where a.attrelid = t.oid and a.attnum = i.indkey[0])
          is distinct from 'organization_id'`.execute(runtime.deps.db);
    expect(rows.map(row => row.name)).toEqual([]);
  });

  test('foreign keys between tenant tables include the organization on both sides', async () => {
    const foreign = (await constraints()).filter(({ kind }) => kind === 'f');
    const wrong = foreign.filter(({ target, columns, target_columns: at }) =>
      target === 'accounts' || target === 'organizations'
        ? target === 'organizations' && columns[0] !== 'organization_id'
        : !at?.some((column, i) => column === 'organization_id' && columns[i] === 'organization_id'),
    );
    expect(wrong.map(({ table, name }) => `${table}.${name}`)).toEqual([]);
    expect(foreign.length).toBeGreaterThan(10);
  });
});
