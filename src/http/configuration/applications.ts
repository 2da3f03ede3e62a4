import { Type } from 'typebox';
import type { ApplicationEntry } from '../../core/configuration/document.ts';
import { changesSchemaOf, newSchemaOf, responseFieldsOf } from '../../core/configuration/entries.ts';
import { application as noun } from '../../core/configuration/nouns/application.ts';
import { listRows } from '../../db/configuration/rows.ts';
import { application } from '../../services/configuration/applications.ts';
import { createEntry, deleteEntry, getEntry, updateEntry } from '../../services/configuration/entries.ts';
import { asCreated, ifMatch, withEtag } from '../server/etag.ts';
import { apiPathOf, list, plain, slugsOf } from '../server/route.ts';
import { Application, CascadeQuery, Deleted, deletionOptions } from '../server/schemas.ts';
import { pausedReason } from './pauses.ts';

const NewApplication = newSchemaOf('NewApplication', noun);
const ApplicationChanges = changesSchemaOf<ApplicationEntry>('ApplicationChanges', noun);

export const pauseFields = {
  paused: Type.Boolean({ description: 'Whether messages are held instead of sent.' }),
  paused_reason: pausedReason,
  created_at: Type.String({ format: 'date-time' }),
};
const ApplicationDetails = Type.Object({ ...responseFieldsOf(noun), ...pauseFields }, { $id: 'ApplicationDetails' });

export const listApplications = list(['org', 'prj'], {
  id: 'listApplications',
  summary: 'List applications',
  tag: 'Organizations',
  item: Application,
  list: async ({ deps, organization, project, link }, page) => {
    const found = await listRows(deps.db, organization.id, 'application', { parent: project.id, page });
    return found.map(({ id, slug, name }) => ({
      id,
      name,
      slug,
      events: link(`/api/o/${organization.slug}/p/${project.slug}/a/${slug}/e/`),
    }));
  },
});

export const createApplication = plain(['org', 'prj'], {
  id: 'createApplication',
  summary: 'Create application',
  tag: 'Organizations',
  status: 201,
  problems: [409],
  body: NewApplication,
  answer: ApplicationDetails,
  handle: async call => {
    const made = await createEntry(call.deps, application, slugsOf(call), call.body);
    return asCreated(call, `${apiPathOf(call)}a/${made.slug}/`, made);
  },
});

export const retrieveApplication = plain(['org', 'prj', 'app'], {
  id: 'retrieveApplication',
  summary: 'Retrieve application',
  tag: 'Organizations',
  status: 200,
  answer: ApplicationDetails,
  handle: async call => withEtag(call, await getEntry(call.deps, application, slugsOf(call), call.application.id)),
});

export const updateApplication = plain(['org', 'prj', 'app'], {
  id: 'updateApplication',
  summary: 'Update application',
  tag: 'Organizations',
  status: 200,
  body: ApplicationChanges,
  answer: ApplicationDetails,
  handle: async call => {
    const { deps, application: own, body } = call;
    return withEtag(call, await updateEntry(deps, application, slugsOf(call), own.id, body, ifMatch(call)));
  },
});

export const deleteApplication = plain(['org', 'prj', 'app'], {
  id: 'deleteApplication',
  summary: 'Delete application',
  description: 'Fails if there are objects below it, unless `cascade` is true. History is kept.',
  tag: 'Organizations',
  status: 200,
  problems: [409],
  query: CascadeQuery,
  answer: Deleted,
  handle: call => {
    const { deps, application: own, query } = call;
    return deleteEntry(deps, application, slugsOf(call), own.id, deletionOptions(query), ifMatch(call));
  },
});
