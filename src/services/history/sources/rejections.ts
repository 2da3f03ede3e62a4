/** Notifies someone who can correct it that a source rejects what it receives. A broken sender does not flood them. */
import * as rejections from '../../../db/history/sources/rejections.ts';
import type { StoredSource } from '../../../db/history/sources/sources.ts';
import { currentTime } from '../../../lib/time/clock.ts';
import type { Deps } from '../../deps.ts';

/** When this process last looked whether to report each source: further rejections in this time cost nothing. */
const reported = new Map<string, number>();
const maxRemembered = 10_000;
const everyMs = 60_000;

interface Rejection {
  /** Id of the payload. */
  payload: string;
  state: 'partly' | 'rejected' | 'refused';
  error: string;
}

export async function reportRejection(
  { db }: Pick<Deps, 'db'>,
  { organization_id, id }: Pick<StoredSource, 'organization_id' | 'id'>,
  rejection: Rejection,
): Promise<void> {
  const name = `${organization_id}/${id}`;
  const now = currentTime();
  if (now - (reported.get(name) ?? Number.NEGATIVE_INFINITY) < everyMs) return;
  if (reported.size >= maxRemembered) reported.clear();
  reported.set(name, now);
  await rejections.reportRejection(db, organization_id, id, rejection);
}
