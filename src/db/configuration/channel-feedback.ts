/** The addresses that services report feedback to, and when they last did. */
import { sql } from 'kysely';
import type { JsonObject } from '../../core/json.ts';
import type { Db } from '../connection/pool.ts';

export interface FeedbackChannel {
  organization_id: number;
  id: number;
  project_id: number | null;
  slug: string;
  type: string;
  /** Without secrets. */
  providers: JsonObject[];
  /** Encrypted. */
  secrets: Buffer | null;
}

export async function findFeedbackChannelAcrossTenants(db: Db, token: string): Promise<FeedbackChannel | undefined> {
  const { rows } = await sql<FeedbackChannel>`
    select organization_id, id, project_id, slug, type, providers, secrets from channels
    where feedback_token = ${token} limit 1`.execute(db);
  return rows[0];
}

/** Returns the channels with the same type and owner: a project, or the organization itself. */
export async function listSiblings(db: Db, organizationId: number, { project_id, type }: FeedbackChannel) {
  const { rows } = await sql<Pick<FeedbackChannel, 'id' | 'type' | 'providers'>>`
    select id, type, providers from channels
    where organization_id = ${organizationId} and type = ${type} and project_id is not distinct from ${project_id}
    order by id`.execute(db);
  return rows;
}

/** Records a request, at most once a minute, so that many requests do not wait for each other. */
export async function recordFeedbackRequest(
  db: Db,
  organizationId: number,
  channelId: number,
  refusal: string | null,
): Promise<void> {
  const time = sql.ref(refusal === null ? 'last_received_at' : 'last_refused_at');
  await sql`
    insert into channel_feedback as f (organization_id, channel_id, ${time}, last_refusal)
    select organization_id, id, now(), ${refusal} from channels
    where organization_id = ${organizationId} and id = ${channelId}
    on conflict (organization_id, channel_id) do update
      set ${time} = now(), last_refusal = coalesce(excluded.last_refusal, f.last_refusal)
      where f.${time} is null or f.${time} < now() - interval '1 minute'`.execute(db);
}
