/**
 * Deleting one thing of the configuration. What has something below it goes only when that is wanted, what others name
 * does not go at all, and history stays.
 */
import { AppError } from '../core/errors.ts';
import type { Json } from '../core/json.ts';
import { deleteApplication } from '../db/applications.ts';
import { deleteChannel } from '../db/channels.ts';
import { deleteEvent } from '../db/events.ts';
import { deleteLayout } from '../db/layouts.ts';
import { deleteNotification } from '../db/notifications.ts';
import { deleteOrganization } from '../db/organizations.ts';
import type { Place, Slugs } from '../db/places.ts';
import type { Db } from '../db/pool.ts';
import { deleteProject } from '../db/projects.ts';
import { type Counts, countBelow } from '../db/uses.ts';
import { record } from './audit.ts';
import type { Deps } from './deps.ts';
import { change, requirePlace } from './entries.ts';
import { findChannelUses, findLayoutUses, refuseUsed } from './uses.ts';

export interface Deletion {
  /** Along with everything below it. */
  cascade: boolean;
  /** Only tells what would go. */
  dryRun: boolean;
}

export interface Deleted {
  /** How many of what, the thing itself included. */
  deleted: Counts;
  dry_run?: true;
}

export interface Doomed<Form> {
  noun: 'organization' | 'project' | 'application' | 'event' | 'notification' | 'channel' | 'layout';
  slugs: Slugs;
  /** Of what has no slug among those. */
  id?: number;
  /** As it is now; `db` is the transaction of the deletion. */
  read: (deps: Deps) => Promise<Form>;
  /** Below the organization; of the organization itself, its slug. */
  path: string;
  /** Throws `request.stale`. */
  check: (current: Form) => void;
}

export async function remove<Form>(deps: Deps, doomed: Doomed<Form>, { cascade, dryRun }: Deletion): Promise<Deleted> {
  const { noun, slugs, path, check } = doomed;
  return change(deps, slugs, async trx => {
    const place = await requirePlace(trx, slugs);
    const current = await doomed.read({ ...deps, db: trx });
    check(current);
    const organizationId = place.organization.id;
    const id = doomed.id ?? idOf(noun, place);
    await refuseNamed(trx, organizationId, place, noun, id, current as { name: string });
    const below = await countUnder(trx, organizationId, place, noun);
    const deleted = { [`${noun}s`]: 1, ...below };
    if (dryRun) return { deleted, dry_run: true };
    if (!cascade && Object.keys(below).length > 0) {
      const message = `it has things below it that would be deleted along: repeat with ?cascade=true if that is meant`;
      throw new AppError('resource.in_use', message, { uses: below });
    }
    await statements[noun](trx, organizationId, id);
    const entry = { action: 'delete', noun, path, before: current as Json, after: { deleted } };
    await record(deps, trx, organizationId, entry);
    return { deleted };
  });
}

const statements: Record<Doomed<unknown>['noun'], (db: Db, organizationId: number, id: number) => Promise<void>> = {
  organization: deleteOrganization,
  project: deleteProject,
  application: deleteApplication,
  event: deleteEvent,
  notification: deleteNotification,
  channel: deleteChannel,
  layout: deleteLayout,
};

function idOf(noun: Doomed<unknown>['noun'], place: Place): number {
  return (place as unknown as Record<string, { id: number }>)[noun]!.id;
}

async function refuseNamed(
  db: Db,
  organizationId: number,
  { project }: Place,
  noun: Doomed<unknown>['noun'],
  id: number,
  { name }: { name: string },
): Promise<void> {
  if (noun === 'channel') refuseUsed(`channel ${name}`, await findChannelUses(db, organizationId, id));
  if (noun === 'layout') {
    refuseUsed(`layout ${name}`, await findLayoutUses(db, organizationId, project?.id ?? null, name));
  }
}

async function countUnder(
  db: Db,
  organizationId: number,
  { project, application, event }: Place,
  noun: Doomed<unknown>['noun'],
): Promise<Counts> {
  switch (noun) {
    case 'organization':
    case 'project':
    case 'application':
    case 'event':
      return countBelow(db, organizationId, {
        project: project?.id,
        application: application?.id,
        event: event?.id,
      });
    default:
      return {};
  }
}
