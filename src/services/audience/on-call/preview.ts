/** The shifts that a draft of a schedule would have. */
import type { EntryOf } from '../../../core/configuration/document.ts';
import { toFields } from '../../../core/configuration/nouns/noun.ts';
import { schedule as noun } from '../../../core/configuration/nouns/schedule.ts';
import type { VisibleUsers } from '../../../core/identity/visible-users.ts';
import { compileSchedule } from '../../../core/oncall/schedule.ts';
import { listSchedules } from '../../../db/audience/on-call/schedules.ts';
import type { Slugs } from '../../../db/configuration/organizations.ts';
import { checkOnly, requirePath } from '../../configuration/entries.ts';
import type { Deps } from '../../deps.ts';
import { requireSpan, type ShiftSpan, showShifts } from './on-call.ts';

/** Checks the draft as when it is stored, except that its users do not have to exist. */
export async function previewShifts(
  deps: Deps,
  slugs: Slugs,
  entry: EntryOf<'schedule'>,
  span: ShiftSpan,
  visible: VisibleUsers,
) {
  requireSpan(span);
  await checkOnly(deps, slugs, 'schedule', entry);
  const { organization, project } = await requirePath(deps.db, slugs);
  const { slug, timezone, layers, combine } = toFields(noun, entry);
  const { since, until } = span;
  const [stored] = await listSchedules(deps.db, organization.id, { project: project!, slug, from: since, until });
  const compiled = compileSchedule({ timezone, layers, combine }, stored?.overrides);
  return showShifts(deps.db, organization.id, compiled, span, visible);
}
