/** Takes in calls of heartbeats, and finds what they are for. */
import type { HeartbeatCall } from '../../../core/heartbeats/state.ts';
import { sourceTokenHash } from '../../../core/sources/token.ts';
import type { NewCall } from '../../../db/history/heartbeats/calls.ts';
import { findNamedHeartbeat, type StoredHeartbeat } from '../../../db/history/heartbeats/heartbeats.ts';
import type { StoredSource } from '../../../db/history/sources/sources.ts';
import { currentTime } from '../../../lib/time/clock.ts';
import { requireHere } from '../../configuration/paths/moves.ts';
import type { Deps } from '../../deps.ts';

export type { StoredHeartbeat } from '../../../db/history/heartbeats/heartbeats.ts';

/** Finds the heartbeat with this token. Throws if its organization has moved to another cell. */
export async function findHeartbeatByToken(deps: Deps, token: string): Promise<StoredHeartbeat | undefined> {
  const tokenHash = sourceTokenHash(token);
  const heartbeat = tokenHash && (await deps.tenantCache.findHeartbeat(tokenHash));
  if (heartbeat) await requireHere(deps, { id: heartbeat.organization_id });
  return heartbeat;
}

/** Finds a heartbeat by slug or name in the application of a source. */
export async function findHeartbeatOfSource(
  { db }: Deps,
  { organization_id, application_id }: StoredSource,
  name: string,
): Promise<StoredHeartbeat | undefined> {
  // PostgreSQL stores no such text.
  if (name.includes('\0') || !name.isWellFormed()) return undefined;
  return findNamedHeartbeat(db, organization_id, application_id, name);
}

export type ReceivedCall = Omit<NewCall, 'organization_id' | 'heartbeat_id' | 'at'>;

/** What a call says that has neither a body nor an exit status. */
export const plainCall: Omit<HeartbeatCall, 'at'> & Pick<NewCall, 'exitStatus'> = {
  kind: 'success',
  runId: null,
  exitStatus: null,
};

/** Stores a call. Returns false if the heartbeat has been deleted. */
export function receiveCall(
  { heartbeats }: Deps,
  { organization_id, id }: StoredHeartbeat,
  call: ReceivedCall,
): Promise<boolean> {
  return heartbeats.add({ organization_id, heartbeat_id: id, at: currentTime(), ...call });
}
