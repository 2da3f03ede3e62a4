/**
 * Ids are unique over all cells of an installation, so that an organization can move to another cell and keep its ids, and
 * with them its links, Message-IDs and references. Each cell allocates ids from its own range, by BELFRY_CELL. The ranges
 * of 256 cells keep signed return paths within 64 characters: see core/feedback/return-path.ts.
 */
import { sql } from 'kysely';
import { AppError } from '../../core/errors.ts';
import type { Db } from './pool.ts';

const idsPerCell = 2 ** 40;
const organizationsPerCell = 2 ** 20;

/** Ids of processes, which do not leave their cell. */
const ownSequences = ['worker_ids'];
/** Any number that no other advisory lock uses. */
const lock = 0x63656c6c;
const ofOrganizations = 'organizations_id_seq';

interface Sequence {
  name: string;
  last: number;
}

/** Reads the last id of each sequence. Zero: none was allocated yet. */
async function listSequences(db: Db): Promise<Sequence[]> {
  const { rows } = await sql<Sequence>`
    select sequencename as name, coalesce(last_value, 0)::float8 as last from pg_sequences
    where schemaname = 'public' and sequencename <> all(${ownSequences}::text[])`.execute(db);
  return rows;
}

const rangeOf = ({ name }: Sequence) => (name === ofOrganizations ? organizationsPerCell : idsPerCell);

/** Returns the number of the cell that a database allocates ids for. */
export async function readCell(db: Db): Promise<number> {
  const sequence = (await listSequences(db)).find(({ name }) => name === ofOrganizations)!;
  return Math.floor(sequence.last / rangeOf(sequence));
}

/** Makes the database allocate ids of this cell from now on. Throws if it belongs to a later one. */
export async function assignCell(db: Db, cell: number): Promise<void> {
  await db.transaction().execute(async trx => {
    // Several processes may start at the same moment; the second one must not set a sequence back.
    await sql`select pg_advisory_xact_lock(${lock})`.execute(trx);
    for (const sequence of await listSequences(trx)) {
      const start = cell * rangeOf(sequence);
      if (sequence.last < start) await sql`select setval(${sequence.name}::regclass, ${start}::bigint)`.execute(trx);
    }
  });
  const actual = await readCell(db);
  if (actual === cell) return;
  throw new AppError(
    'config.invalid',
    `BELFRY_CELL is ${cell}, but the database belongs to cell ${actual}: a cell keeps its number`,
  );
}
