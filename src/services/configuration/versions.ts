/** Versions of a message or layout. They are never changed; the newest is the current one. */
import * as rows from '../../db/configuration/versions.ts';
import type { PageRequest } from '../../db/connection/page.ts';
import type { Deps } from '../deps.ts';

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

function toVersion({ version, created_at, created_by }: Row): Version {
  return { version, created_at: created_at.toISOString(), by: created_by };
}

const maxVersion = 2 ** 31 - 1;

/** Returns a page of versions, newest first. */
export async function listVersions(
  { db }: Deps,
  organizationId: number,
  noun: rows.Versioned,
  id: number,
  page: PageRequest,
) {
  const list = (at: PageRequest) => rows.listVersions(db, organizationId, noun, id, at);
  // A cursor can exceed the range of the integer column; all versions are older than that.
  const found = await list({ ...page, after: Math.min(page.after, maxVersion) });
  const [newest] = page.after === 0 ? found : await list({ after: 0, limit: 1 });
  return found.map(row => ({ id: row.version, ...toVersion(row), current: row.version === newest?.version }));
}

/** Returns undefined if there is no such version. */
export async function findVersion(
  { db }: Deps,
  organizationId: number,
  noun: rows.Versioned,
  id: number,
  version: number,
) {
  if (version > maxVersion) return undefined;
  const row = await rows.findVersion(db, organizationId, noun, id, version);
  return row && { ...toVersion(row), content: row.content };
}
