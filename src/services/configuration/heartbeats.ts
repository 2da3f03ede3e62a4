/** Heartbeats: calls that are expected regularly. */
import type { EntryOf } from '../../core/configuration/document.ts';
import type { ChangesOf } from '../../core/configuration/entries.ts';
import { type HeartbeatFields, heartbeat as noun } from '../../core/configuration/nouns/heartbeat.ts';
import { pickFields, toEntryFields } from '../../core/configuration/nouns/noun.ts';
import { invalid } from '../../core/errors.ts';
import { heartbeatLimits } from '../../core/heartbeats/rhythm.ts';
import { shownStateOf } from '../../core/heartbeats/state.ts';
import { generateSourceToken } from '../../core/sources/token.ts';
import type { Slugs } from '../../db/configuration/organizations.ts';
import { findRow } from '../../db/configuration/rows.ts';
import { countHeartbeats, type HeartbeatView, listHeartbeatViews } from '../../db/history/heartbeats/heartbeats.ts';
import { currentTime } from '../../lib/time/clock.ts';
import type { Deps } from '../deps.ts';
import { createEntry, gone, type Kind, type Precondition, requirePath, updateEntry } from './entries.ts';
import { openSourceSecrets } from './source-secrets.ts';

export type Heartbeat = Required<HeartbeatFields> & { id: number };

export const heartbeat: Kind<'heartbeat', Heartbeat> = {
  noun: 'heartbeat',
  read: async (db, { organization }, id) => {
    const row = await findRow(db, organization.id, 'heartbeat', { id });
    if (!row) throw gone('heartbeat');
    return { id: row.id, ...pickFields(noun, row) } as Heartbeat;
  },
  toAudit: current => toEntryFields(noun, current),
};

/** Creates a heartbeat and returns its token, which is generated if absent. */
export async function createHeartbeat(
  deps: Deps,
  slugs: Slugs,
  { token = generateSourceToken(), ...entry }: EntryOf<'heartbeat'>,
): Promise<Heartbeat & { token: string }> {
  const { organization, application } = await requirePath(deps.db, slugs);
  if (application && (await countHeartbeats(deps.db, organization.id, application.id)) >= heartbeatLimits.heartbeats) {
    throw invalid({ slug: [`an application can have at most ${heartbeatLimits.heartbeats} heartbeats`] });
  }
  return { ...(await createEntry(deps, heartbeat, slugs, { ...entry, token })), token };
}

/** Null generates another token, which is returned. */
export async function updateHeartbeat(
  deps: Deps,
  slugs: Slugs,
  id: number,
  { token, ...changes }: ChangesOf<EntryOf<'heartbeat'>>,
  check: Precondition<Heartbeat>,
): Promise<Heartbeat & { token?: string }> {
  const made = token === null ? { token: generateSourceToken() } : {};
  const given = token != null && { token };
  const changed = await updateEntry(deps, heartbeat, slugs, id, { ...changes, ...given, ...made }, check);
  // What a paused one had triggered is resolved.
  deps.heartbeats.onAct();
  return { ...changed, ...made };
}

export function readHeartbeatToken(
  { cipher }: Deps,
  organizationId: number,
  row: { application_id: number; slug: string; secrets: Buffer },
): string {
  return openSourceSecrets(cipher, organizationId, row, 'heartbeat').token;
}

export type ListedHeartbeat = ReturnType<typeof show>;

/** Returns heartbeats with their state, in order of creation. */
export async function listHeartbeats(
  { db }: Deps,
  organizationId: number,
  selection: Parameters<typeof listHeartbeatViews>[2],
): Promise<ListedHeartbeat[]> {
  return (await listHeartbeatViews(db, organizationId, selection)).map(show);
}

function show(view: HeartbeatView) {
  const { id, project, application, slug, name, every, reason, occurrence_id: occurrence, error } = view;
  return {
    ...{ id, project, application, slug, name, every, reason, occurrence, error },
    state: shownStateOf(view, view.enabled, currentTime()),
    since: view.since.toISOString(),
    last_ping_at: view.last_ping_at?.toISOString() ?? null,
    started_at: view.started_at?.toISOString() ?? null,
    expected_at: view.expected_at?.toISOString() ?? null,
    missing_at: view.missing_at?.toISOString() ?? null,
  };
}
