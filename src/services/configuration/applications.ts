import { findRow } from '../../db/configuration/rows.ts';
import type { Kind } from './entries.ts';
import { showPause } from './pauses.ts';

export interface Application {
  slug: string;
  name: string;
  paused: boolean;
  paused_reason: string | null;
  created_at: string;
}

export const application: Kind<'application', Application> = {
  noun: 'application',
  read: async (db, { organization }, id) => {
    const row = (await findRow(db, organization.id, 'application', { id }))!;
    return { slug: row.slug, name: row.name, ...showPause(row), created_at: row.created_at.toISOString() };
  },
};
