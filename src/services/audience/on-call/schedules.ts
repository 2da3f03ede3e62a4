/** Schedules, which say who is on call when. */
import type { EntryOf } from '../../../core/configuration/document.ts';
import { toEntryFields } from '../../../core/configuration/nouns/noun.ts';
import { schedule as noun, type ScheduleFields } from '../../../core/configuration/nouns/schedule.ts';
import { AppError, invalid } from '../../../core/errors.ts';
import { scheduleLimits } from '../../../core/oncall/schedule-rules.ts';
import { countSchedules, listNotificationsUsingSchedule } from '../../../db/audience/on-call/schedules.ts';
import type { Slugs } from '../../../db/configuration/organizations.ts';
import { findRow } from '../../../db/configuration/rows.ts';
import { createEntry, type Kind, plainKind, requirePath } from '../../configuration/entries.ts';
import { refuseIfUsed } from '../../configuration/references.ts';
import type { Deps } from '../../deps.ts';

export type Schedule = Required<ScheduleFields>;

/** It cannot be deleted while a notification goes to it. */
export const schedule: Kind<'schedule', Schedule> = {
  ...plainKind('schedule'),
  refuseIfUsed: async (trx, { organization, project }, { slug }) =>
    refuseIfUsed(
      `schedule ${slug}`,
      await listNotificationsUsingSchedule(trx, organization.id, project!.id, slug),
      'notifications',
    ),
  toAudit: current => toEntryFields(noun, current),
};

export async function createSchedule(deps: Deps, slugs: Slugs, entry: EntryOf<'schedule'>): Promise<Schedule> {
  const { organization, project } = await requirePath(deps.db, slugs);
  if (project && (await countSchedules(deps.db, organization.id, project.id)) >= scheduleLimits.schedules)
    throw invalid({ slug: [`a project can have at most ${scheduleLimits.schedules} schedules`] });
  return createEntry(deps, schedule, slugs, entry);
}

/** Finds a schedule by the slugs of its path. */
export async function resolveSchedulePath(deps: Deps, { org, prj, slug }: { org: string; prj: string; slug: string }) {
  const { organization, project } = await requirePath(deps.db, { org, prj });
  const found = await findRow(deps.db, organization.id, 'schedule', { parent: project!.id, slug });
  if (!found) throw new AppError('schedule.not_found', `there is no schedule ${slug} in ${org}/${prj}`);
  return { organization, project: project!, schedule: found };
}
