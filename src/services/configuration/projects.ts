import { findRow } from '../../db/configuration/rows.ts';
import type { Kind } from './entries.ts';

export interface Project {
  slug: string;
  name: string;
}

export const project: Kind<Project> = {
  noun: 'project',
  read: async (db, { organization }, id) => {
    const { slug, name } = (await findRow(db, organization.id, 'project', { id }))!;
    return { slug, name };
  },
};
