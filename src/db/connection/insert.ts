import type { Insertable } from 'kysely';
import type { Db } from './pool.ts';
import type { Tables } from './types.ts';

type NumberedTable = {
  [T in keyof Tables]: Tables[T] extends { organization_id: number; id: { __select__: number } } ? T : never;
}[keyof Tables];

/** Inserts a row and returns its id. */
export async function insert<T extends NumberedTable>(
  db: Db,
  organizationId: number,
  table: T,
  row: Omit<Insertable<Tables[T]>, 'organization_id'>,
): Promise<number> {
  const { id } = await db
    .insertInto(table as 'absences')
    .values({ organization_id: organizationId, ...row } as never)
    .returning('id')
    .executeTakeFirstOrThrow();
  return id;
}
