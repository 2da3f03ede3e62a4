/** Versions of a message or layout. They are never changed; the newest is the current one. */
import type { PageRequest } from '../../db/connection/page.ts';

interface Row {
  version: number;
  created_at: Date;
  created_by: string | null;
}

interface Version {
  version: number;
  created_at: string;
  /** Name of the API key or account; null for versions from before authors were recorded. */
  by: string | null;
}

export function toVersion({ version, created_at, created_by }: Row): Version {
  return { version, created_at: created_at.toISOString(), by: created_by };
}

const maxVersion = 2 ** 31 - 1;

/** Returns a page of versions, newest first. */
export async function listVersionPage(page: PageRequest, list: (page: PageRequest) => Promise<Row[]>) {
  // A cursor can exceed the range of the integer column; all versions are older than that.
  const rows = await list({ ...page, after: Math.min(page.after, maxVersion) });
  const [newest] = page.after === 0 ? rows : await list({ after: 0, limit: 1 });
  return rows.map(row => ({ id: row.version, ...toVersion(row), current: row.version === newest?.version }));
}
