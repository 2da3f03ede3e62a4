import { Type } from 'typebox';
import { responseFieldsOf } from '../../core/configuration/entries.ts';
import { application as noun } from '../../core/configuration/nouns/application.ts';
import { application } from '../../services/configuration/applications.ts';
import { createEntry, getEntry, updateEntry } from '../../services/configuration/entries.ts';
import { requireGuardChange } from '../identity/approver.ts';
import { slugsOf } from '../server/route.ts';
import { Application } from '../server/schemas.ts';
import { entryEndpoints } from './entry-endpoints.ts';
import { pauseFields } from './pauses.ts';

export const entry = entryEndpoints(['org', 'prj'], 'app', {
  kind: application,
  tag: 'Organizations',
  at: 'a',
  answer: Type.Object({ ...responseFieldsOf(noun), ...pauseFields }, { $id: 'ApplicationDetails' }),
  cascades: true,
  create: async call => {
    requireGuardChange(call, call.body.guard ?? null, null);
    return createEntry(call.deps, application, slugsOf(call), call.body);
  },
  update: async (call, id, check) => {
    const { guard } = call.body;
    if (guard !== undefined)
      requireGuardChange(call, guard, (await getEntry(call.deps, application, slugsOf(call), id)).guard);
    return updateEntry(call.deps, application, slugsOf(call), id, call.body, check);
  },
  item: Application,
  showRow: ({ organization, project, link }, { slug, name }) => ({
    name,
    slug,
    events: link(`/api/o/${organization.slug}/p/${project!.slug}/a/${slug}/e/`),
  }),
});
