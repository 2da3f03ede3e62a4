/** Caches what every request needs: keys, sessions, holders of tokens, the objects that a path names, channels. */
import { findTokenHolder, type TokenHolder } from '../../../db/audience/recipient-links.ts';
import { type ResolvedPath, resolvePathAcrossTenants, type Slugs } from '../../../db/configuration/organizations.ts';
import { listRows, type RowOf } from '../../../db/configuration/rows.ts';
import type { Db } from '../../../db/connection/pool.ts';
import { findHeartbeatAcrossTenants, type StoredHeartbeat } from '../../../db/history/heartbeats/heartbeats.ts';
import { findSourceAcrossTenants, type StoredSource } from '../../../db/history/sources/sources.ts';
import { findKeyAcrossTenants, type Key } from '../../../db/identity/keys.ts';
import { findSessionAcrossTenants, type Session } from '../../../db/identity/sessions.ts';
import { type KnownMove, listMovesAcrossTenants } from '../../../db/operations/organization-moves.ts';
import { AnnouncedCache, type Entries } from '../../../lib/caching/announced-cache.ts';

type Channel = Pick<RowOf<'channel'>, 'id' | 'slug' | 'name' | 'type' | 'enabled' | 'project_id'>;

export class TenantCache extends AnnouncedCache {
  readonly #db: Db;
  readonly #keys: Entries<Key> = new Map();
  readonly #sessions: Entries<Session> = new Map();
  readonly #recipients: Entries<TokenHolder> = new Map();
  readonly #paths: Entries<ResolvedPath> = new Map();
  readonly #channels: Entries<Channel[]> = new Map();
  readonly #moves: Entries<KnownMove[]> = new Map();
  readonly #sources: Entries<StoredSource> = new Map();
  readonly #heartbeats: Entries<StoredHeartbeat> = new Map();

  constructor(db: Db) {
    super();
    this.#db = db;
  }

  findKey(id: string): Key | undefined | Promise<Key | undefined> {
    return this.getOrRead(
      this.#keys,
      id,
      () => findKeyAcrossTenants(this.#db, id),
      key => key.organization_id,
    );
  }

  findSession(tokenHash: Buffer): Session | undefined | Promise<Session | undefined> {
    return this.getOrRead(
      this.#sessions,
      tokenHash.toString('base64'),
      () => findSessionAcrossTenants(this.#db, tokenHash),
      session => `account ${session.account.id}`,
    );
  }

  /** Finds a user as the holder of a recipient token. */
  findRecipient(organizationId: number, userId: number): TokenHolder | undefined | Promise<TokenHolder | undefined> {
    return this.getOrRead(
      this.#recipients,
      `${organizationId}:${userId}`,
      () => findTokenHolder(this.#db, organizationId, userId),
      user => `user ${user.id}`,
    );
  }

  /** Finds the source that has this token. */
  findSource(tokenHash: Buffer): StoredSource | undefined | Promise<StoredSource | undefined> {
    return this.getOrRead(
      this.#sources,
      tokenHash.toString('base64'),
      () => findSourceAcrossTenants(this.#db, tokenHash),
      source => source.organization_id,
    );
  }

  /** Finds the heartbeat that has this token. */
  findHeartbeat(tokenHash: Buffer): StoredHeartbeat | undefined | Promise<StoredHeartbeat | undefined> {
    return this.getOrRead(
      this.#heartbeats,
      tokenHash.toString('base64'),
      () => findHeartbeatAcrossTenants(this.#db, tokenHash),
      heartbeat => heartbeat.organization_id,
    );
  }

  /** Lists the organizations that are moving between cells or have left: see moves.ts. */
  listMoves(): KnownMove[] | Promise<KnownMove[]> {
    return this.getOrRead(
      this.#moves,
      '',
      () => listMovesAcrossTenants(this.#db),
      () => 'moves',
    ) as KnownMove[] | Promise<KnownMove[]>;
  }

  /** Resolves the slugs of a path, as far down as they exist. */
  resolvePath(slugs: Slugs): ResolvedPath | undefined | Promise<ResolvedPath | undefined> {
    return this.getOrRead(
      this.#paths,
      `${slugs.org}/${slugs.prj ?? ''}/${slugs.app ?? ''}/${slugs.evt ?? ''}`,
      () => resolvePathAcrossTenants(this.#db, slugs),
      path => path.organization.id,
      // Paths that do not exist are not cached: mistyped ones would fill the memory.
      path => (!slugs.prj || path.project) && (!slugs.app || path.application) && (!slugs.evt || path.event),
    );
  }

  /** Lists the channels that events of a project may use: the project's own first, then the organization's. */
  async listUsableChannels(organizationId: number, projectId: number): Promise<Channel[]> {
    const all =
      (await this.getOrRead(
        this.#channels,
        String(organizationId),
        async () => {
          const rows = await listRows(this.#db, organizationId, 'channel');
          return rows.map(({ id, slug, name, type, enabled, project_id }) => ({
            id,
            slug,
            name,
            type,
            enabled,
            project_id,
          }));
        },
        () => organizationId,
      )) ?? [];
    return [
      ...all.filter(channel => channel.project_id === projectId),
      ...all.filter(channel => channel.project_id === null),
    ];
  }
}
