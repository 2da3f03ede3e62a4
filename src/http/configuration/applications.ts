import { Type } from 'typebox';
import { responseFieldsOf } from '../../core/configuration/entries.ts';
import { application as noun } from '../../core/configuration/nouns/application.ts';
import { application } from '../../services/configuration/applications.ts';
import { Application } from '../server/schemas.ts';
import { entryEndpoints } from './entry-endpoints.ts';
import { pauseFields } from './pauses.ts';

export const entry = entryEndpoints(['org', 'prj'], 'app', {
  kind: application,
  tag: 'Organizations',
  at: 'a',
  answer: Type.Object({ ...responseFieldsOf(noun), ...pauseFields }, { $id: 'ApplicationDetails' }),
  cascades: true,
  item: Application,
  showRow: ({ organization, project, link }, { slug, name }) => ({
    name,
    slug,
    events: link(`/api/o/${organization.slug}/p/${project!.slug}/a/${slug}/e/`),
  }),
});
