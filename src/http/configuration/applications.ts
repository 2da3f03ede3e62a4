import { Type } from 'typebox';
import { ApplicationEntry } from '../../core/configuration/document.ts';
import { createSchemaOf, updateSchemaOf } from '../../core/configuration/entries.ts';
import * as queries from '../../db/configuration/applications.ts';
import * as applications from '../../services/configuration/applications.ts';
import { pause, resume } from '../../services/configuration/pauses.ts';
import { asCreated, ifMatch, withEtag } from '../server/etag.ts';
import { apiPathOf, list, plain, slugsOf } from '../server/route.ts';
import { Application, CascadeQuery, Deleted, deletionOptions } from '../server/schemas.ts';
import { PauseBody, PauseState, pausedReason, ResumeState, targetOf } from './pauses.ts';

const NewApplication = createSchemaOf<{ slug: string; name: string }>('NewApplication', ApplicationEntry, [
  'slug',
  'name',
]);
const ApplicationChanges = updateSchemaOf<{ slug?: unknown; name?: string }>(
  'ApplicationChanges',
  ApplicationEntry,
  ['name'],
  ['slug'],
);

export const applicationFields = {
  slug: Type.String(),
  name: Type.String(),
  paused: Type.Boolean({ description: 'Whether messages are held instead of sent.' }),
  paused_reason: pausedReason,
  created_at: Type.String({ format: 'date-time' }),
};
const ApplicationDetails = Type.Object(applicationFields, { $id: 'ApplicationDetails' });

export const listApplications = list(['org', 'prj'], {
  id: 'listApplications',
  summary: 'List applications',
  tag: 'Organizations',
  item: Application,
  list: async ({ deps, organization, project, link }, page) => {
    const found = await queries.listApplications(deps.db, organization.id, project.id, page);
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
    const made = await applications.createApplication(call.deps, slugsOf(call), call.body);
    return asCreated(call, `${apiPathOf(call)}a/${made.slug}/`, made);
  },
});

export const retrieveApplication = plain(['org', 'prj', 'app'], {
  id: 'retrieveApplication',
  summary: 'Retrieve application',
  tag: 'Organizations',
  status: 200,
  answer: ApplicationDetails,
  handle: async call => withEtag(call, await applications.getApplication(call.deps, slugsOf(call))),
});

export const updateApplication = plain(['org', 'prj', 'app'], {
  id: 'updateApplication',
  summary: 'Update application',
  tag: 'Organizations',
  status: 200,
  body: ApplicationChanges,
  answer: ApplicationDetails,
  handle: async call =>
    withEtag(call, await applications.updateApplication(call.deps, slugsOf(call), call.body, ifMatch(call))),
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
  handle: call => applications.deleteApplication(call.deps, slugsOf(call), deletionOptions(call.query), ifMatch(call)),
});

export const pauseApplication = plain(['org', 'prj', 'app'], {
  id: 'pauseApplication',
  summary: 'Pause application',
  description: 'Messages are held until it is resumed. None is dropped.',
  tag: 'Events',
  status: 200,
  body: PauseBody,
  answer: PauseState,
  handle: async call => {
    await pause(call.deps, call.organization.id, targetOf('application', call), call.body.reason);
    return { paused: true };
  },
});

export const resumeApplication = plain(['org', 'prj', 'app'], {
  id: 'resumeApplication',
  summary: 'Resume application',
  description: 'Held messages are sent.',
  tag: 'Events',
  status: 200,
  answer: ResumeState,
  handle: async call => ({
    paused: false,
    released: await resume(call.deps, call.organization.id, targetOf('application', call)),
  }),
});
