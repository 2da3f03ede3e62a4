/**
 * Moves an organization to another cell. The state in the source's database decides who owns it: docs/architecture.md has
 * the table. Every step can be repeated, so a move that was interrupted continues where it stopped.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { AppError } from '../../core/errors.ts';
import { readCell } from '../../db/connection/cell.ts';
import {
  beginCopySession,
  haveWritersEnded,
  markWriters,
  readShapes,
  type Shapes,
  wakeWorkers,
} from '../../db/connection/copying.ts';
import { type Database, dbOn, openDatabase } from '../../db/connection/pool.ts';
import { listSealedSamplesAcrossTenants } from '../../db/operations/organization-accounts.ts';
import * as copy from '../../db/operations/organization-copy.ts';
import * as moves from '../../db/operations/organization-moves.ts';
import { keptWhenForgotten, organizationTables } from '../../db/operations/organization-tables.ts';
import { type Cipher, createCipher } from '../../lib/secrets/cipher.ts';
import { createKeyring } from '../../lib/secrets/keyring.ts';
import type { Deps } from '../deps.ts';
import { record } from './audit.ts';
import { membersWithoutPasskeyFor, readMembers, storeMembers } from './organization-members.ts';
import { reencryptOrganization } from './secrets.ts';

export interface MoveRequest {
  slug: string;
  /** PostgreSQL of this cell itself, without a pooler. */
  sourceUrl: string;
  targetUrl: string;
  targetKey: string;
  /** The public URL of the other cell. */
  url: string;
  onProgress(text: string): void;
}

export interface MoveResult {
  url: string;
  /** How long requests were refused. Undefined if an earlier run has done that. */
  refusedMs: number | undefined;
  /** Emails of members whose passkeys do not work at the new address: they sign in with a recovery code. */
  withoutPasskey: string[];
}

const tableNames = organizationTables.map(({ name }) => name);
/** Fewer changes than this are copied in a moment. */
const fewChanges = 200;
const maxRounds = 50;
/** Processes learn within milliseconds that requests are refused from now on. */
const announcedMs = 500;
const pollMs = 50;
/** How long changes may stay unfinished while requests are refused, before the organization goes on and it is tried again. */
const maxFrozenMs = 5_000;
const maxFreezes = 5;

export async function moveOrganization(deps: Deps, request: MoveRequest): Promise<MoveResult> {
  const [source, target] = [request.sourceUrl, request.targetUrl].map(url =>
    openDatabase({ url, name: 'belfry move' }),
  );
  const clients: pg.PoolClient[] = [];
  try {
    for (const { pool } of [source!, target!]) clients.push(await pool.connect());
    const move = await Move.begin(deps, request, [source!, target!], clients as [pg.PoolClient, pg.PoolClient]);
    return await move.run();
  } finally {
    for (const client of clients) client.release(true);
    await Promise.all([source!.close(), target!.close()]);
  }
}

class Move {
  readonly #deps: Deps;
  readonly #request: MoveRequest;
  readonly #organization: number;
  readonly #id: string;
  readonly #source: pg.PoolClient;
  readonly #target: pg.PoolClient;
  readonly #shapes: Shapes;
  /** Reads what either cell has sealed, and seals for the target. */
  readonly #cipher: Cipher;
  #refusedMs: number | undefined;
  #withoutPasskey: string[] = [];

  private constructor(
    deps: Deps,
    request: MoveRequest,
    organization: number,
    id: string,
    [source, target]: [pg.PoolClient, pg.PoolClient],
    shapes: Shapes,
  ) {
    this.#deps = deps;
    this.#request = request;
    this.#organization = organization;
    this.#id = id;
    this.#source = source;
    this.#target = target;
    this.#shapes = shapes;
    this.#cipher = createCipher(createKeyring(request.targetKey, deps.keyring.passphrases()));
  }

  /** Checks that the organization can move, and records the move in both databases. */
  static async begin(
    deps: Deps,
    request: MoveRequest,
    databases: [Database, Database],
    clients: [pg.PoolClient, pg.PoolClient],
  ): Promise<Move> {
    const [source, target] = clients;
    const { slug, url } = request;
    const organization = await moves.findOrganizationToMoveAcrossTenants(source, slug);
    if (!organization) throw new AppError('organization.not_found', `there is no organization ${slug}`);
    for (const client of clients) {
      await beginCopySession(client);
      if (!(await moves.lockMove(client, organization.id))) throw refused(`${slug} is being moved by another process`);
    }
    const known = await moves.findMove(source, organization.id);
    if (known && known.state !== 'arrived' && known.url !== url) {
      throw refused(`${slug} is moving, or has moved, to ${known.url ?? 'this cell'}: abort that move first`);
    }
    const [cell, targetCell] = await Promise.all(databases.map(({ db }) => readCell(db)));
    if (cell === targetCell) {
      throw refused(
        `both databases allocate ids of cell ${cell}: start each cell with its own BELFRY_CELL before organizations move to it`,
      );
    }
    const shapes = await readShapes(source, tableNames);
    copy.requireSameShapes(shapes, await readShapes(target, tableNames));
    const isNew = !known || known.state === 'arrived';
    const id = isNew ? randomUUID() : known.id;
    const move = new Move(deps, request, organization.id, id, clients, shapes);
    if (known?.state === 'left') return move;
    await move.#requireKey();
    if (isNew) {
      await record(deps, deps.db, organization.id, {
        action: 'move',
        noun: 'organization',
        path: slug,
        after: { url },
      });
      await moves.createMove(source, organization.id, { id, slug, state: 'copying', url });
    }
    if (known?.state !== 'moved') await move.#prepareTarget();
    return move;
  }

  async run(): Promise<MoveResult> {
    const { url, slug, onProgress } = this.#request;
    const state = (await moves.findMove(this.#source, this.#organization))?.state;
    if (state !== 'moved' && state !== 'left') {
      onProgress(`Copying ${slug}; it works on meanwhile.`);
      await this.#copy();
      await this.#handOver();
    }
    if (state !== 'left') await this.#activate();
    await copy.unwatchChanges(this.#source, this.#organization);
    return { url, refusedMs: this.#refusedMs, withoutPasskey: this.#withoutPasskey };
  }

  /** A wrong key would make every credential unreadable. */
  async #requireKey(): Promise<void> {
    const samples = await listSealedSamplesAcrossTenants(this.#target);
    if (samples.length === 0 || samples.some(sealed => this.#cipher.isCurrent(sealed))) return;
    throw refused('BELFRY_TARGET_SECRET_KEY is not the key of the other cell: its credentials have another one');
  }

  /** Reserves the slug at the target, in place of what an aborted move has left there. */
  async #prepareTarget(): Promise<void> {
    const { slug } = this.#request;
    const [target, organization] = [this.#target, this.#organization];
    const arriving = await moves.findMove(target, organization);
    if (arriving?.id === this.#id) return;
    if (arriving?.state === 'arriving') await discard(target, organization);
    const existing = await moves.findOrganizationToMoveAcrossTenants(target, slug);
    if (existing && existing.id !== organization) throw refused(`the other cell has an organization ${slug} already`);
    const before = await moves.findMove(target, organization);
    if (existing && (before?.state !== 'left' || (await hasRows(target, organization)))) {
      throw refused(`the other cell still has ${slug}: run \`belfry organization move ${slug} --forget\` there first`);
    }
    await moves.createArrival(target, organization, { id: this.#id, slug });
  }

  async #copy(): Promise<void> {
    await copy.watchChanges(this.#source, this.#organization, this.#shapes);
    const done = (await moves.findMove(this.#target, this.#organization))?.copied ?? [];
    const of = (phase: 'referring' | 'history') =>
      organizationTables.filter(table => table.phase === phase).map(({ name }) => name);
    for (const tables of [of('referring'), ...of('history').map(name => [name])]) {
      if (tables.every(name => done.includes(name))) continue;
      const rows = await copy.copyTables(this.#source, this.#organization, tables, this.#shapes, this.#write);
      await this.#write(target => moves.addCopied(target, this.#organization, tables));
      if (rows > 0)
        this.#request.onProgress(`  ${rows} rows of ${tables.length > 1 ? 'the configuration' : tables[0]}`);
    }
    await this.#copyChanges();
  }

  /** Copies what has changed, until there are few changes left. */
  async #copyChanges(few = fewChanges): Promise<void> {
    for (let round = 0; round < maxRounds; round++) {
      const changes = await copy.copyChanges(this.#source, this.#organization, this.#shapes, this.#write);
      if (changes <= few) return;
    }
  }

  /** Runs one transaction of the target. */
  readonly #write = async (work: (target: pg.PoolClient) => Promise<void>): Promise<void> => {
    if (!(await moves.whileArriving(this.#target, this.#organization, this.#id, work))) throw aborted(this.#request);
  };

  async #change(from: readonly moves.MoveState[], to: moves.MoveState): Promise<void> {
    if (!(await moves.changeState(this.#source, this.#organization, this.#id, from, to))) throw aborted(this.#request);
  }

  async #handOver(): Promise<void> {
    const { slug, onProgress } = this.#request;
    for (let attempt = 1; ; attempt++) {
      await this.#change(['copying', 'draining', 'closing', 'frozen'], 'draining');
      onProgress(`Waiting for the messages of ${slug} that are being sent; triggers are accepted.`);
      await this.#waitForWriters();
      while ((await moves.countInFlight(this.#source, this.#organization)) > 0) {
        if ((await moves.findMove(this.#source, this.#organization))?.state !== 'draining')
          throw aborted(this.#request);
        await this.#copyChanges();
        await sleep(pollMs);
      }
      await this.#copyChanges();
      const since = performance.now();
      await this.#change(['draining'], 'closing');
      await sleep(announcedMs);
      await this.#copyChanges();
      await this.#change(['closing'], 'frozen');
      if (await this.#waitForWriters(since + maxFrozenMs)) {
        await this.#finish();
        this.#refusedMs = performance.now() - since;
        return;
      }
      // A long transaction of another tenant: triggers are accepted again before the next attempt.
      if (attempt === maxFreezes) throw refused(`changes of ${slug} do not end: see pg_stat_activity, and try again`);
    }
  }

  /** Waits until no statement runs that has not seen the current state. Returns false after the deadline. */
  async #waitForWriters(deadline = Number.POSITIVE_INFINITY): Promise<boolean> {
    const marker = await markWriters(this.#source);
    while (!(await haveWritersEnded(this.#source, marker))) {
      if (performance.now() > deadline) return false;
      await sleep(pollMs);
    }
    return true;
  }

  /** Nothing changes any more: copies the rest, checks it, and gives the organization away. */
  async #finish(): Promise<void> {
    const [source, target, organization] = [this.#source, this.#target, this.#organization];
    await this.#copyChanges(0);
    const members = await readMembers(dbOn(source), organization, this.#cipher);
    await this.#write(async client => {
      await storeMembers(this.#deps, dbOn(client), organization, members, this.#cipher);
      await reencryptOrganization({ db: dbOn(client), cipher: this.#cipher }, organization);
    });
    const [counts, copied] = [await copy.countRows(source, organization), await copy.countRows(target, organization)];
    const different = Object.keys(counts).filter(name => counts[name] !== copied[name]);
    if (different.length > 0)
      throw refused(`the copy differs in ${different.join(', ')}: abort the move and try again`);
    await this.#change(['frozen'], 'moved');
    this.#withoutPasskey = membersWithoutPasskeyFor(members, new URL(this.#request.url).hostname);
  }

  /** The source has given the organization away, so the target may send from now on. */
  async #activate(): Promise<void> {
    const [target, organization, id] = [this.#target, this.#organization, this.#id];
    const isActive = await moves.changeState(target, organization, id, ['arriving', 'arrived'], 'arrived');
    if (!isActive)
      throw refused(`the other cell does not expect ${this.#request.slug}: is BELFRY_TARGET_DATABASE_URL right?`);
    await wakeWorkers(target);
    await this.#change(['moved'], 'left');
  }
}

/** Ends a move before it is complete: the organization stays here. Returns false if there was none. */
export async function abortMove(request: Pick<MoveRequest, 'slug' | 'sourceUrl' | 'targetUrl'>): Promise<boolean> {
  const { slug } = request;
  const organization = await withClient(request.sourceUrl, async source => {
    const found = await moves.findOrganizationToMoveAcrossTenants(source, slug);
    if (!found) throw new AppError('organization.not_found', `there is no organization ${slug}`);
    const move = await moves.findMove(source, found.id);
    const isCancelled = await moves.cancelMove(source, found.id);
    if (!isCancelled && (move?.state === 'moved' || move?.state === 'left')) {
      throw refused(`${slug} has left for ${move.url}, which cannot be aborted: move it back from there`);
    }
    await copy.unwatchChanges(source, found.id);
    return { id: found.id, isCancelled };
  });
  const isDiscarded = await withClient(request.targetUrl, target => discard(target, organization.id));
  return organization.isCancelled || isDiscarded;
}

/** Deletes what this cell still has of an organization that has left. It keeps answering with the new address. */
export async function forgetOrganization({ slug, sourceUrl }: Pick<MoveRequest, 'slug' | 'sourceUrl'>): Promise<void> {
  await withClient(sourceUrl, async source => {
    const found = await moves.findOrganizationToMoveAcrossTenants(source, slug);
    const move = found && (await moves.findMove(source, found.id));
    if (move?.state !== 'left') throw refused(`${slug} has not moved to another cell`);
    await beginCopySession(source);
    await copy.unwatchChanges(source, found!.id);
    await copy.deleteRows(source, found!.id, keptWhenForgotten);
  });
}

async function withClient<T>(url: string, work: (client: pg.PoolClient) => Promise<T>): Promise<T> {
  const database = openDatabase({ url, name: 'belfry move' });
  try {
    const client = await database.pool.connect();
    try {
      return await work(client);
    } finally {
      client.release(true);
    }
  } finally {
    await database.close();
  }
}

/** Deletes what has arrived of a move that was aborted. */
async function discard(target: pg.PoolClient, organizationId: number): Promise<boolean> {
  const wasHere = await moves.discardArrival(target, organizationId);
  if (wasHere === undefined) return false;
  await beginCopySession(target);
  await copy.deleteRows(target, organizationId, wasHere ? keptWhenForgotten : undefined);
  await moves.deleteArrival(target, organizationId);
  return true;
}

/** Gives organizations back to this cell whose move was interrupted. It can be continued afterwards. */
export async function recoverMoves({ db }: Pick<Deps, 'db'>): Promise<void> {
  await moves.recoverMovesAcrossTenants(db);
}

async function hasRows(client: pg.PoolClient, organizationId: number): Promise<boolean> {
  const { organizations: _, ...others } = await copy.countRows(client, organizationId);
  return Object.values(others).some(count => count > 0);
}

const refused = (message: string) => new AppError('move.refused', message);

function aborted({ slug }: MoveRequest): AppError {
  return new AppError('move.aborted', `the move of ${slug} was aborted by another process`);
}
