/** Heartbeats that clients of other systems manage with the key of a source: they belong to its application. */
import { createHash } from 'node:crypto';
import type { EntryOf } from '../../../core/configuration/document.ts';
import { invalid } from '../../../core/errors.ts';
import type { JsonObject } from '../../../core/json.ts';
import type { Severity } from '../../../core/sources/alert.ts';
import { limits } from '../../../core/text/text.ts';
import {
  findNamedHeartbeat,
  type HeartbeatView,
  listHeartbeatViews,
  type StoredHeartbeat,
} from '../../../db/history/heartbeats/heartbeats.ts';
import { deleteEntry } from '../../configuration/entries.ts';
import { createHeartbeat, heartbeat, updateHeartbeat } from '../../configuration/heartbeats.ts';
import type { Deps } from '../../deps.ts';
import { openSource, type StoredSource } from '../sources/ingress.ts';

type NewHeartbeat = Pick<EntryOf<'heartbeat'>, 'every' | 'grace'> & {
  name: string;
  severity?: Severity | undefined;
  context?: JsonObject | undefined;
  enabled?: boolean;
};

/** Creates a heartbeat that triggers the event to which the routes of the source send it. */
export async function createForSource(
  deps: Deps,
  source: StoredSource,
  { severity, context, ...entry }: NewHeartbeat,
): Promise<StoredHeartbeat> {
  const name = entry.name.trim();
  const { organization_id, application_id } = source;
  const plain = slugOf(name);
  const isTaken = plain === '' || (await findNamedHeartbeat(deps.db, organization_id, application_id, plain));
  // Names need no letter of a slug, and several may yield the same.
  const slug = isTaken
    ? `${plain.slice(0, limits.slug - 9).replace(/[_-]+$/, '') || 'heartbeat'}-${hashOf(name)}`
    : plain;
  const alert = { key: slug, state: 'open', title: name, severity: severity ?? null, time: null } as const;
  const { event } = openSource(deps, source).compiled.route({ ...alert, context: { ...context, heartbeat: slug } });
  if (event === undefined) {
    throw invalid({ event: ['no route of the source applies to this heartbeat: add one without a condition'] });
  }
  await createHeartbeat(deps, pathOf(source), {
    ...entry,
    name,
    slug,
    event,
    ...(severity && { severity }),
    ...(context && { context }),
  });
  return (await findNamedHeartbeat(deps.db, organization_id, application_id, slug))!;
}

const pathOf = ({ organization: org, project: prj, application: app }: StoredSource) => ({ org, prj, app });

export async function updateForSource(
  deps: Deps,
  source: StoredSource,
  id: number,
  changes: JsonObject,
): Promise<void> {
  await updateHeartbeat(deps, pathOf(source), id, changes, () => {});
}

export async function deleteForSource(deps: Deps, source: StoredSource, id: number): Promise<void> {
  await deleteEntry(deps, heartbeat, pathOf(source), id, { cascade: false, dryRun: false }, () => {});
}

/** Returns the heartbeats of the application, or the one with this id. */
export function listOfSource({ db }: Deps, source: StoredSource, id?: number): Promise<HeartbeatView[]> {
  const { organization_id, application_id: applicationId } = source;
  return listHeartbeatViews(db, organization_id, { applicationId, ...(id !== undefined && { id }) });
}

function slugOf(name: string): string {
  return name
    .toLowerCase()
    .replaceAll(/[^a-z0-9_-]+/g, '-')
    .replaceAll(/[_-]{2,}/g, '-')
    .slice(0, limits.slug)
    .replaceAll(/^[_-]+|[_-]+$/g, '');
}

function hashOf(name: string): string {
  return createHash('sha256').update(name).digest('hex').slice(0, 8);
}
