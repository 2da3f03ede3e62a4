import { Type } from 'typebox';
import { ApplicationEntry } from '../core/configuration/document.ts';
import { changesOf, fieldsOf } from '../core/entries.ts';
import * as applications from '../services/applications.ts';
import { created, ifMatch, tagged } from './etag.ts';
import { list, pathOf, placeOf, plain, slugsOf } from './route.ts';
import { Application, CascadeQuery, Deleted, deletionOf, Paused, Resumed } from './schemas.ts';

const NewApplication = fieldsOf<{ slug: string; name: string }>('NewApplication', ApplicationEntry, ['slug', 'name']);
const ApplicationChanges = changesOf<{ slug?: unknown; name?: string }>(
  'ApplicationChanges',
  ApplicationEntry,
  ['name'],
  ['slug'],
);

export const applicationFields = {
  slug: Type.String(),
  name: Type.String(),
  paused: Type.Boolean({ description: 'Whether messages are kept instead of sent.' }),
  created_at: Type.String({ format: 'date-time' }),
};
const ApplicationDetails = Type.Object(applicationFields, { $id: 'ApplicationDetails' });

export const listApplications = list(['org', 'prj'], {
  id: 'listApplications',
  summary: 'List applications',
  tag: 'Organizations',
  item: Application,
  list: async ({ deps, organization, project, link }, page) => {
    const found = await applications.listApplications(deps, organization.id, project.id, page);
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
    return created(call, `${placeOf(call)}a/${made.slug}/`, made);
  },
});

export const retrieveApplication = plain(['org', 'prj', 'app'], {
  id: 'retrieveApplication',
  summary: 'Retrieve application',
  tag: 'Organizations',
  status: 200,
  answer: ApplicationDetails,
  handle: async call => tagged(call, await applications.getApplication(call.deps, slugsOf(call))),
});

export const patchApplication = plain(['org', 'prj', 'app'], {
  id: 'patchApplication',
  summary: 'Change application',
  tag: 'Organizations',
  status: 200,
  body: ApplicationChanges,
  answer: ApplicationDetails,
  handle: async call =>
    tagged(call, await applications.updateApplication(call.deps, slugsOf(call), call.body, ifMatch(call))),
});

export const deleteApplication = plain(['org', 'prj', 'app'], {
  id: 'deleteApplication',
  summary: 'Delete application',
  description: 'What has something below it is refused, unless `cascade` is given. History stays.',
  tag: 'Organizations',
  status: 200,
  problems: [409],
  query: CascadeQuery,
  answer: Deleted,
  handle: call => applications.deleteApplication(call.deps, slugsOf(call), deletionOf(call.query), ifMatch(call)),
});

export const pauseApplication = plain(['org', 'prj', 'app'], {
  id: 'pauseApplication',
  summary: 'Pause application',
  description: 'Messages are kept until it is resumed; none is dropped.',
  tag: 'Events',
  status: 200,
  answer: Paused,
  handle: async call => {
    await applications.pauseApplication(call.deps, call.organization.id, {
      id: call.application.id,
      path: pathOf(call),
    });
    return { paused: true };
  },
});

export const resumeApplication = plain(['org', 'prj', 'app'], {
  id: 'resumeApplication',
  summary: 'Resume application',
  description: 'What was kept is sent.',
  tag: 'Events',
  status: 200,
  answer: Resumed,
  handle: async call => ({
    paused: false,
    released: await applications.resumeApplication(call.deps, call.organization.id, {
      id: call.application.id,
      path: pathOf(call),
    }),
  }),
});
