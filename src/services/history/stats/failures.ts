/** Failed deliveries by cause, and bulk retries of a cause. */
import { causeId } from '../../../core/history/failures.ts';
import { listDeliveriesByKey } from '../../../db/history/delivery-history.ts';
import type { DeliveryKey } from '../../../db/history/replays.ts';
import { type Failure, listFailures } from '../../../db/history/stats/failures.ts';
import { listChannelNames } from '../../../db/history/stats/stats.ts';
import type { Deps } from '../../deps.ts';
import { maxPerBulkAction, previewRetries, retryDeliveries } from '../activity.ts';
import { maxUnresolved } from './stats.ts';

/** Causes per response. */
export const maxCauses = 50;

/** Lists the causes of the newest failures, those of most deliveries first. */
export async function listCauses(deps: Deps, organizationId: number) {
  const failures = await listFailures(deps.db, organizationId, maxUnresolved);
  const groups = [...Map.groupBy(failures, causeId)].sort(([, a], [, b]) => b.length - a.length).slice(0, maxCauses);
  const [channels, examples] = await Promise.all([
    listChannelNames(deps.db, organizationId),
    listDeliveriesByKey(
      deps.db,
      organizationId,
      groups.map(([, members]) => members[0]!),
    ),
  ]);
  const channelById = new Map(channels.map(one => [one.id, one]));
  const exampleByKey = new Map(examples.map(one => [keyOf(one), one]));
  const causes = groups.flatMap(([cause, members]) => {
    const newest = members[0]!;
    const example = exampleByKey.get(keyOf(newest));
    // Removed by retention between the two statements.
    if (!example) return [];
    const { slug = null, project = null } = channelById.get(newest.channel_id) ?? {};
    return [{ cause, channel: slug, project, deliveries: members.length, since: oldestOf(members), example }];
  });
  return { causes, checked: failures.length, capped: failures.length >= maxUnresolved };
}

/** Finds the deliveries of a cause, newest first. */
export async function findDeliveriesOfCause({ db }: Pick<Deps, 'db'>, organizationId: number, cause: string) {
  return (await listFailures(db, organizationId, maxUnresolved)).filter(one => causeId(one) === cause);
}

/** Previews the retry of a cause. `remaining` are the deliveries that one request does not reach. */
export async function previewCause(deps: Deps, organizationId: number, cause: string) {
  const { keys, remaining } = await selectCause(deps, organizationId, cause);
  return { ...(await previewRetries(deps, organizationId, keys)), remaining };
}

/** Queues the deliveries of a cause again, the oldest ones first. */
export async function retryCause(deps: Deps, organizationId: number, cause: string) {
  const { keys, remaining } = await selectCause(deps, organizationId, cause);
  const retried = keys.length > 0 ? await retryDeliveries(deps, organizationId, keys) : 0;
  return { retried, unchanged: keys.length - retried, remaining };
}

async function selectCause(deps: Deps, organizationId: number, cause: string) {
  const found = await findDeliveriesOfCause(deps, organizationId, cause);
  const keys: DeliveryKey[] = found.slice(-maxPerBulkAction).map(({ occurrence, id }) => ({ occurrence, id }));
  return { keys, remaining: found.length - keys.length };
}

const keyOf = ({ occurrence, id }: DeliveryKey) => `${occurrence}.${id}`;

function oldestOf(members: Failure[]): Date {
  return new Date(Math.min(...members.map(({ created_at }) => created_at.getTime())));
}
