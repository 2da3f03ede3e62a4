/**
 * Sends who is on call to groups in chats, for schedules with `groups`. What a look at the schedule has stored is sent by one
 * process: it claims the group, and stores what the chat has confirmed. Sending the same again is harmless, so a crash costs at
 * most a repetition.
 */
import type { FastifyBaseLogger } from 'fastify';
import { groupRetrySeconds, userGroupLimits } from '../../../core/audience/user-groups.ts';
import { AppError } from '../../../core/errors.ts';
import type { JsonObject } from '../../../core/json.ts';
import { lookUp } from '../../../core/lookup.ts';
import {
  type ClaimedGroup,
  claimGroupAcrossTenants,
  confirmGroup,
  failGroup,
  findNextGroupDueAcrossTenants,
  listGroupPeople,
  listGroups,
  postponeGroups,
  releaseGroup,
} from '../../../db/audience/on-call/groups.ts';
import { ClaimLoop } from '../../../lib/process/claim-loop.ts';
import { waitFor } from '../../../lib/process/poll-loop.ts';
import { openSecrets } from '../../../pipeline/channel-secrets.ts';
import { type GroupOutcome, type GroupPerson, type LeftOut, setGroup } from '../../../providers/user-groups.ts';
import type { Deps } from '../../deps.ts';

/** A process is notified of what is due. This is for what it was not notified of. */
const pollEveryMs = 2_000;
const retryMs = 1_000;
const maxSending = { all: 20, group: 2 };
/** An attempt begins no request after the first time, and each takes at most the second: a claim is longer than both. */
const attemptMs = 60_000;
const requestMs = 10_000;
const maxAddresses = 10;

type GroupDeps = Pick<Deps, 'db' | 'cipher' | 'providers' | 'outbound'>;

export function updateGroups(
  deps: GroupDeps,
  log: FastifyBaseLogger,
  isPaused: () => boolean,
): ClaimLoop<ClaimedGroup> {
  const { db } = deps;
  return new ClaimLoop(
    {
      max: maxSending,
      isPaused,
      claim: ({ except }) => claimGroupAcrossTenants(db, except),
      groupOf: claimed => claimed.organization_id,
      process: (claimed, signal) =>
        update(deps, log, claimed, signal)
          // The claim ends, and then the group is sent again.
          .catch(error =>
            log.warn({ err: error, ...fieldsOf(claimed) }, 'storing what became of a group in a chat failed'),
          ),
      findPauseMs: async () =>
        waitFor(await findNextGroupDueAcrossTenants(db, pollEveryMs), pollEveryMs) || pollEveryMs,
    },
    { log, task: 'looking for groups that follow schedules', everyMs: retryMs },
  );
}

async function update(deps: GroupDeps, log: FastifyBaseLogger, claimed: ClaimedGroup, signal: AbortSignal) {
  const { db } = deps;
  const { organization_id: organizationId, failures, error: before } = claimed;
  const accounts = new Map(Object.entries(claimed.accounts));
  const begun = performance.now();
  const mayContinue = () => !signal.aborted && performance.now() - begun < attemptMs;
  const outcome = await send(deps, claimed, accounts, mayContinue).catch((error): GroupOutcome => {
    log.error({ err: error, ...fieldsOf(claimed) }, 'updating a group in a chat failed');
    return { ok: false, retry: true, reason: 'an internal error, which the log describes' };
  });
  if (outcome.ok) {
    const { members, ids, leftOut, isKept } = outcome;
    const againSeconds = leftOut.length > 0 ? userGroupLimits.leftOutSeconds : null;
    const confirmed = isKept ? { members: null, ids: claimed.member_ids } : { members, ids };
    await confirmGroup(db, organizationId, claimed, { ...confirmed, leftOut, againSeconds });
    const fields = { ...fieldsOf(claimed), members: members.length, left_out: leftOut.map(({ user }) => user) };
    log.info(fields, isKept ? 'a group keeps its last members' : 'a group has the users who are on call');
    return;
  }
  if (signal.aborted) return releaseUnknown(db, organizationId, claimed);
  const { reason, retryAfterSeconds } = outcome;
  const seconds = groupRetrySeconds(failures, outcome, Math.random());
  await failGroup(db, organizationId, claimed, { error: reason, seconds, accounts });
  if (retryAfterSeconds !== undefined) await postponeGroups(db, organizationId, claimed, retryAfterSeconds);
  // The first of several equal failures.
  if (reason !== before) log.warn({ ...fieldsOf(claimed), reason, seconds }, 'a group cannot be updated; trying again');
}

/** What was sent before the process stopped is not known: the next attempt sends it all. */
const releaseUnknown = (db: Deps['db'], organizationId: number, claimed: ClaimedGroup) =>
  releaseGroup(db, organizationId, { ...claimed, member_ids: null });

const fieldsOf = ({ organization, project, schedule, channel, group_id: group }: ClaimedGroup) => ({
  schedule: `${organization}/${project}/${schedule}`,
  channel,
  group,
});

async function send(
  { db, cipher, providers, outbound }: GroupDeps,
  claimed: ClaimedGroup,
  accounts: Map<string, string>,
  mayContinue: () => boolean,
): Promise<GroupOutcome> {
  const { organization_id: organizationId, channel: slug, channel_project_id: project_id, group_id, wanted } = claimed;
  if (claimed.providers === null) return refuse(`there is no channel ${slug}`);
  if (!claimed.enabled) return refuse(`the channel ${slug} is disabled`);
  let secrets: JsonObject[];
  try {
    secrets = openSecrets(cipher, organizationId, { project_id, slug, secrets: claimed.secrets });
  } catch (error) {
    if (error instanceof AppError) return refuse(error.message);
    throw error;
  }
  const [able] = claimed.providers.flatMap(({ use, ...settings }, i) => {
    const userGroups = lookUp(providers, String(use))?.userGroups;
    return userGroups ? [{ userGroups, settings: { ...settings, ...secrets[i] } as JsonObject }] : [];
  });
  if (!able) return refuse(`no provider of the channel ${slug} has user groups: use slack or mattermost`);
  const { userGroups, settings } = able;
  if (!userGroups.id.pattern.test(group_id)) return refuse(`${group_id} ${userGroups.id.hint}`);
  const { people, leftOut } = await findPeople(db, organizationId, wanted, claimed.type!);
  const timeoutMs = Math.min(requestMs, Number(settings.timeout_ms ?? requestMs));
  const chat = userGroups.open(group_id, settings as never, { outbound, timeoutMs });
  const outcome = await setGroup(chat, { people, accounts, current: claimed.member_ids, mayContinue }, userGroups);
  return outcome.ok ? { ...outcome, leftOut: [...leftOut, ...outcome.leftOut] } : outcome;
}

function refuse(reason: string): GroupOutcome {
  return { ok: false, retry: false, reason };
}

/** Returns the users who can be looked up in the chat, and others, who cannot be in the group anyway. */
async function findPeople(db: Deps['db'], organizationId: number, wanted: readonly string[], type: string) {
  const rows = await listGroupPeople(db, organizationId, wanted, type, maxAddresses);
  const byName = new Map(rows.map(row => [row.username, row]));
  const people: GroupPerson[] = [];
  const leftOut: LeftOut[] = [];
  for (const username of wanted) {
    const row = byName.get(username);
    const reason = !row
      ? 'has been deleted'
      : row.locked
        ? 'is locked'
        : people.length >= userGroupLimits.members && `is one of more than ${userGroupLimits.members} on call`;
    if (reason || !row) {
      leftOut.push({ user: username, reason: reason || '' });
      continue;
    }
    const of = (name: string) => row.addresses.filter(one => one.name === name).map(({ value }) => value);
    const emails = [...new Set([username, ...of('email').map(email => email.toLowerCase())])];
    people.push({ username, emails, addresses: of(type) });
  }
  return { people, leftOut };
}

/** Lists the groups of a schedule with what became of them. */
export async function listScheduleGroups({ db }: Pick<Deps, 'db'>, organizationId: number, { id }: { id: number }) {
  const rows = await listGroups(db, organizationId, id);
  return rows.map(({ channel, group_id: group, wanted, members, due_at, error, ...row }) => {
    const isSent = members !== null && (row.left_out.length > 0 || due_at === null);
    return {
      channel,
      group,
      state: error !== null ? 'failing' : row.kept ? 'kept' : isSent ? 'current' : 'pending',
      wanted: wanted ?? [],
      members: members ?? [],
      left_out: row.left_out,
      updated_at: row.updated_at,
      error,
      failing_since: row.failing_since,
      next_attempt_at: error === null ? null : due_at,
    } as const;
  });
}
