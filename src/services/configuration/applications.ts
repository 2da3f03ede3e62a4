import type { ApplicationGuard } from '../../core/decision/guards/rate-guard.ts';
import { findRow } from '../../db/configuration/rows.ts';
import type { Kind } from './entries.ts';
import { showPause } from './pauses.ts';

export interface Application {
  slug: string;
  name: string;
  paused: boolean;
  paused_reason: string | null;
  guard: ApplicationGuard | null;
  created_at: string;
}

export const application: Kind<'application', Application> = {
  noun: 'application',
  read: async (db, { organization }, id) => {
    const row = (await findRow(db, organization.id, 'application', { id }))!;
    const { slug, name, guard, created_at } = row;
    return { slug, name, ...showPause(row), guard, created_at: created_at.toISOString() };
  },
};
