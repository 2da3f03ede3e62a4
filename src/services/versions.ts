/** Versions of a message or of a layout: only ever added, the newest is the one that counts. */
import type { PageRequest } from '../db/page.ts';

interface Row {
  version: number;
  created_at: Date;
  created_by: string | null;
}

export interface Version {
  version: number;
  created_at: string;
  /** The name of a key or account; null for what is older than that is remembered. */
  by: string | null;
}

export function showVersion({ version, created_at, created_by }: Row): Version {
  return { version, created_at: created_at.toISOString(), by: created_by };
}

const largestVersion = 2 ** 31 - 1;

/** A page of them, the newest first, as a list of the API has it. */
export async function showVersions(page: PageRequest, list: (page: PageRequest) => Promise<Row[]>) {
  // A cursor may name a number that the column cannot hold; whatever is there is older.
  const rows = await list({ ...page, after: Math.min(page.after, largestVersion) });
  const [newest] = page.after === 0 ? rows : await list({ after: 0, limit: 1 });
  return rows.map(row => ({ id: row.version, ...showVersion(row), current: row.version === newest?.version }));
}
