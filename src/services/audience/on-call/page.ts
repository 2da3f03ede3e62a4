/** Pages the users on call, or one person, by hand: triggers the event that the schedule names. */
import { AppError, invalid } from '../../../core/errors.ts';
import { actorName } from '../../../core/identity/actor.ts';
import { uuidv7 } from '../../../core/ids.ts';
import type { NewPage } from '../../../core/oncall/page.ts';
import { fold } from '../../../core/text/text.ts';
import { findPeople } from '../../../db/audience/users.ts';
import type { ResolvedPath } from '../../../db/configuration/organizations.ts';
import { currentTime } from '../../../lib/time/clock.ts';
import type { EventPlan } from '../../../pipeline/event-plan.ts';
import { sourcesOf } from '../../../pipeline/recipients.ts';
import type { Deps } from '../../deps.ts';
import { triggerEvent } from '../../history/triggers.ts';
import { record } from '../../operations/audit.ts';

interface PagedSchedule {
  organization: { id: number; slug: string };
  project: { slug: string };
  schedule: { slug: string; page: string | null };
}

interface Pager {
  /** Who pages, for the message. Default: the caller. */
  by?: string;
  /** As for triggers: of the API key or the account, for the rate guard. */
  keyId?: string;
  bytes?: number;
}

const maxTitleLength = 120;

/** Returns the id of the occurrence. Repeating it with the same idempotency key pages no one again. */
export async function page(
  deps: Deps,
  { organization, project, schedule }: PagedSchedule,
  { user, message, urgent = true, idempotency_key }: NewPage,
  { by = actorName(deps.actor), ...caller }: Pager = {},
): Promise<string> {
  deps.requireAdmitted?.();
  const [path, plan] = await findPagedEvent(deps, { organization, project, schedule });
  const username = user === undefined ? undefined : await requirePerson(deps, organization.id, user);
  requireAudience(plan, schedule, username);
  const text = message.trim();
  const title = text.split(/[\r\n]/, 1)[0]!.trimEnd();
  const id = uuidv7(currentTime());
  const occurrence = await triggerEvent(deps, path, {
    ...caller,
    id,
    context: {
      title: title.length > maxTitleLength ? `${title.slice(0, maxTitleLength - 1).toWellFormed()}…` : title,
      message: text,
      paged_by: by,
      schedule: schedule.slug,
    },
    options: {
      priority: urgent ? 'urgent' : 'normal',
      ...(username !== undefined && { recipients: [username], limit_to: [username] }),
      ...(idempotency_key !== undefined && { idempotency_key }),
    },
  });
  // A repetition has been recorded already.
  if (occurrence === id) {
    const after = { by, message: text, urgent, occurrence, ...(username !== undefined && { user: username }) };
    const entry = { action: 'page', noun: 'schedule', path: `${project.slug}/${schedule.slug}`, after };
    await record(deps, deps.db, organization.id, entry);
  }
  return occurrence;
}

async function findPagedEvent(
  { tenantCache, plans }: Deps,
  { organization, project, schedule }: PagedSchedule,
): Promise<[Required<ResolvedPath>, EventPlan]> {
  if (schedule.page === null) {
    const advice = 'name an event with `page` of the schedule';
    throw new AppError('schedule.not_pageable', `the schedule ${schedule.slug} cannot be paged: ${advice}`);
  }
  const [app, evt] = schedule.page.split('/') as [string, string];
  const path = await tenantCache.resolvePath({ org: organization.slug, prj: project.slug, app, evt });
  const plan = path?.event && (await plans.findEvent(organization.id, path.event.id));
  if (!plan) throw new AppError('schedule.not_pageable', `there is no event ${schedule.page}: change \`page\``);
  return [path as Required<ResolvedPath>, plan];
}

async function requirePerson({ db }: Deps, organizationId: number, user: string): Promise<string> {
  const [person] = await findPeople(db, organizationId, [fold(user)]);
  if (!person) throw invalid({ user: [`there is no user ${JSON.stringify(user)}`] });
  if (person.state === 'locked') throw invalid({ user: ['is locked, and would not be notified'] });
  return person.username;
}

/** The event may go elsewhere: no one should believe that someone was woken. */
function requireAudience(plan: EventPlan, { slug, page }: PagedSchedule['schedule'], user: string | undefined): void {
  const all = plan.notifications.flatMap(one => one.steps?.steps.map(({ notification }) => notification) ?? [one]);
  const isReached = all.some(notification =>
    user === undefined
      ? notification.recipients.schedule === slug
      : sourcesOf(notification, plan, { recipients: [user] }).some(source => 'names' in source),
  );
  if (isReached) return;
  const audience = user === undefined ? `to the schedule ${slug}` : 'to recipients that the trigger names';
  throw new AppError('schedule.not_pageable', `no active notification of the event ${page} goes ${audience}`);
}
