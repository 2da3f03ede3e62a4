/** Silences: creating, ending early, and what they would match now. */
import {
  findSilenceMistakes,
  type NewSilence,
  type Silence,
  silenceLimits,
} from '../../../core/decision/silence-rules.ts';
import { type SilenceState, Silences, silenceStateOf, silentUntil } from '../../../core/decision/silences.ts';
import { parseDuration } from '../../../core/durations.ts';
import { AppError, invalid, throwIfInvalid } from '../../../core/errors.ts';
import { actorName } from '../../../core/identity/actor.ts';
import { uuidv7 } from '../../../core/ids.ts';
import { lockLedger } from '../../../db/connection/transaction.ts';
import {
  addSilence,
  countOpenSilences,
  endSilence,
  findSilence,
  listOpenOccurrences,
  listSilences as listRows,
  listSilenced,
  type SilenceRow,
} from '../../../db/history/silences/silences.ts';
import { releaseSilenced } from '../../../db/ledger/expand/silenced.ts';
import { slices } from '../../../lib/load/slices.ts';
import { currentTime } from '../../../lib/time/clock.ts';
import type { Deps } from '../../deps.ts';
import { record } from '../../operations/audit.ts';
import { changeCached } from '../../operations/transaction.ts';

export type SilenceView = ReturnType<typeof describe>;

function describe(row: SilenceRow, now: number) {
  const { project_id: _, application_id: __, event_id: ___, held, suppressed, released, ...silence } = row;
  const until = silentUntil(row, now);
  return {
    ...silence,
    state: silenceStateOf(row, now),
    active_until: until === undefined ? null : new Date(until),
    counts: { held, suppressed, released, capped: held + suppressed + released >= silenceLimits.counted },
  };
}

export async function listSilences(
  { db }: Pick<Deps, 'db'>,
  organizationId: number,
  filter: { state?: SilenceState | undefined },
  page: { before: string; limit: number },
): Promise<SilenceView[]> {
  const now = currentTime();
  return (await listRows(db, organizationId, filter, page)).map(row => describe(row, now));
}

export async function getSilence({ db }: Pick<Deps, 'db'>, organizationId: number, id: string): Promise<SilenceView> {
  const row = await findSilence(db, organizationId, id);
  if (!row) throw new AppError('silence.not_found', `there is no silence ${id}`);
  return describe(row, currentTime());
}

export async function listSilencedOccurrences(
  { db }: Pick<Deps, 'db'>,
  organizationId: number,
  id: string,
  page: { before: string; limit: number },
) {
  return (await listSilenced(db, organizationId, id, page)).map(({ occurrence, ...row }) => ({
    id: occurrence,
    ...row,
  }));
}

/** Creates a silence. It applies to everything that is decided from now on, and to messages that are not sent yet. */
export async function createSilence(
  deps: Deps,
  organization: { id: number; slug: string },
  input: NewSilence,
): Promise<SilenceView> {
  const now = currentTime();
  const silence = await toSilence(deps, organization, input, now);
  await changeCached(deps, organization.id, async trx => {
    if ((await countOpenSilences(trx, organization.id)) >= silenceLimits.open) {
      throw new AppError('silence.limit', `at most ${silenceLimits.open} silences: end some that are no longer needed`);
    }
    await addSilence(trx, organization.id, silence);
    const { id, matchers, reason, starts_at, ends_at, recurrence } = silence;
    const after = {
      ...(input.path && { path: input.path }),
      matchers,
      reason,
      starts_at: starts_at.toISOString(),
      ends_at: ends_at.toISOString(),
      ...(recurrence && { recurrence }),
    };
    await record(deps, trx, organization.id, { action: 'create', noun: 'silence', path: id, after });
  });
  return getSilence(deps, organization.id, silence.id);
}

/** Checks what a caller sent, and finds what it is limited to. */
async function toSilence(
  deps: Deps,
  organization: { slug: string },
  { path, matchers = [], reason, starts_at, ends_at, duration, recurrence = null }: NewSilence,
  now: number,
): Promise<Silence> {
  const start = starts_at === undefined ? new Date(now) : new Date(starts_at);
  if ((ends_at === undefined) === (duration === undefined))
    throw invalid({ ends_at: ['is required, or duration instead: a silence is never endless'] });
  const ms = duration === undefined ? 0 : parseDuration(duration)!;
  const end = ends_at === undefined ? new Date(Math.max(now, start.getTime()) + ms) : new Date(ends_at);
  const scope = await findScope(deps, organization.slug, path ?? '');
  const silence: Silence = {
    id: uuidv7(now),
    ...scope,
    matchers,
    reason: reason.trim(),
    starts_at: start,
    ends_at: end,
    recurrence,
    created_by: actorName(deps.actor),
  };
  const mistakes = findSilenceMistakes(silence, scope.project_id !== null, now);
  if (duration !== undefined && mistakes.ends_at) {
    mistakes.duration = mistakes.ends_at;
    delete mistakes.ends_at;
  }
  throwIfInvalid(mistakes);
  return silence;
}

async function findScope({ tenantCache }: Deps, org: string, path: string) {
  if (path === '') return { project_id: null, application_id: null, event_id: null };
  const [prj, app, evt, ...others] = path.split('/');
  const found = await tenantCache.resolvePath({
    org,
    prj: prj!,
    ...(app !== undefined && { app }),
    ...(evt !== undefined && { evt }),
  });
  const { project, application, event } = found ?? {};
  const isFound = project && (app === undefined || application) && (evt === undefined || event) && others.length === 0;
  if (!isFound)
    throw invalid({
      path: [`names no project, application or event: use slugs such as shop, shop/web or shop/web/order-paid`],
    });
  return {
    project_id: project.id,
    application_id: app === undefined ? null : application!.id,
    event_id: evt === undefined ? null : event!.id,
  };
}

/** Ends a silence now, and makes what it holds due. */
export async function endSilenceEarly(deps: Deps, organizationId: number, id: string) {
  const { released } = await changeCached(deps, organizationId, async trx => {
    await lockLedger(trx);
    const planned = await endSilence(trx, organizationId, id, actorName(deps.actor));
    if (!planned) {
      await getSilence({ db: trx }, organizationId, id);
      throw new AppError('silence.ended', 'the silence is over already');
    }
    const released = await releaseSilenced(trx, organizationId, id);
    const before = { ends_at: planned.toISOString() };
    const after = { ends_at: new Date(currentTime()).toISOString(), released };
    await record(deps, trx, organizationId, { action: 'end', noun: 'silence', path: id, before, after });
    return { released };
  });
  return { ...(await getSilence(deps, organizationId, id)), ended_now: released };
}

/** The newest occurrences that a preview looks at, at a time and altogether, and those that it returns. */
export const previewLimits = { page: 200, examined: 5_000, shown: 20 } as const;
/** A preview stops after this time. */
const maxPreviewMs = 3_000;

/** Returns the open occurrences that a silence with this scope and these matchers would match, whatever its times. */
export async function previewSilence(
  deps: Deps,
  organization: { id: number; slug: string },
  { path, matchers = [] }: Pick<NewSilence, 'path' | 'matchers'>,
) {
  const scope = await findScope(deps, organization.slug, path ?? '');
  if (matchers.length === 0 && scope.project_id === null)
    throw invalid({ matchers: ['are required without a project: to stop everything, pause the organization'] });
  const now = currentTime();
  const times = { starts_at: new Date(now - 1), ends_at: new Date(now + 1), recurrence: null };
  const silences = new Silences([{ id: '', ...scope, matchers, reason: '', created_by: '', ...times }]);
  const pause = slices();
  const begunAt = performance.now();
  const occurrences: { id: string; event: string | null; title: string | null }[] = [];
  let matched = 0;
  let examined = 0;
  let before: string | undefined;
  do {
    const page = await listOpenOccurrences(deps.db, organization.id, { before, limit: previewLimits.page });
    for (const { id, event, context, ...ids } of page.open) {
      await pause();
      const subject = { project: { id: ids.project_id }, application: { id: ids.application_id }, id: ids.event_id };
      if (!silences.find(subject, context, now)) continue;
      matched++;
      if (occurrences.length < previewLimits.shown) occurrences.push({ id, event, title: titleOf(context) });
    }
    examined += page.examined;
    before = page.next;
  } while (before && examined < previewLimits.examined && performance.now() - begunAt < maxPreviewMs);
  return { matched, complete: before === undefined, occurrences };
}

const maxTitle = 200;

function titleOf(context: { title?: unknown }): string | null {
  return typeof context.title === 'string' ? context.title.slice(0, maxTitle).toWellFormed() : null;
}
