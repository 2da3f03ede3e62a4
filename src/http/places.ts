import { Type } from 'typebox';
import { ApplicationEntry, EventEntry, ProjectEntry } from '../core/configuration/document.ts';
import { changesOf, fieldsOf } from '../core/entries.ts';
import { createPlace, getPlace, updatePlace } from '../services/places.ts';
import { created, ifMatch, tagged } from './etag.ts';
import { showProject } from './organizations.ts';
import { placeOf, plain, type Route, slugsOf } from './route.ts';
import { Project } from './schemas.ts';

interface Named {
  slug: string;
  name: string;
}
interface Changes {
  slug?: unknown;
  name?: string;
}

const NewProject = fieldsOf<Named>('NewProject', ProjectEntry, ['slug', 'name']);
const ProjectChanges = changesOf<Changes>('ProjectChanges', ProjectEntry, ['name'], ['slug']);
const NewApplication = fieldsOf<Named>('NewApplication', ApplicationEntry, ['slug', 'name']);
const ApplicationChanges = changesOf<Changes>('ApplicationChanges', ApplicationEntry, ['name'], ['slug']);
const NewEvent = fieldsOf<Named & { active?: boolean; category?: string }>('NewEvent', EventEntry, [
  'slug',
  'name',
  'active',
  'category',
]);
const EventChanges = changesOf<Changes & { active?: boolean | null; category?: string | null }>(
  'EventChanges',
  EventEntry,
  ['name', 'active', 'category'],
  ['slug'],
);

const applicationFields = {
  slug: Type.String(),
  name: Type.String(),
  paused: Type.Boolean({ description: 'Whether messages are kept instead of sent.' }),
  created_at: Type.String({ format: 'date-time' }),
};
const ApplicationDetails = Type.Object(applicationFields, { $id: 'ApplicationDetails' });
const EventDetails = Type.Object(
  {
    ...applicationFields,
    active: Type.Boolean({ description: 'False: triggers are refused.' }),
    category: Type.String({ description: 'Slug of the category that recipients know it by.' }),
    notifications: Type.Array(
      Type.Object({
        id: Type.Integer(),
        name: Type.String(),
        active: Type.Boolean(),
        channels: Type.Array(Type.String(), { description: 'Slugs or types.' }),
      }),
    ),
  },
  { $id: 'EventDetails' },
);

const projects = '/api/o/:org/p/';
const applications = '/api/o/:org/p/:prj/a/';
const events = '/api/o/:org/p/:prj/a/:app/e/';

export const placeRoutes: Route[] = [
  plain({
    method: 'POST',
    path: projects,
    permission: 'organization:write',
    id: 'createProject',
    summary: 'Create project',
    tag: 'Organizations',
    status: 201,
    problems: [409],
    body: NewProject,
    answer: Project,
    handle: async call => {
      const made = await createPlace(call.deps, 'project', slugsOf(call), call.body);
      return created(call, `${placeOf(call)}p/${made.slug}/`, showProject(call, made));
    },
  }),
  plain({
    method: 'PATCH',
    path: '/api/o/:org/p/:prj/',
    permission: 'organization:write',
    id: 'patchProject',
    summary: 'Change project',
    tag: 'Organizations',
    status: 200,
    body: ProjectChanges,
    answer: Project,
    handle: async call => {
      const match = ifMatch(call);
      const check = (current: Named) => match(showProject(call, current));
      return tagged(call, showProject(call, await updatePlace(call.deps, 'project', slugsOf(call), call.body, check)));
    },
  }),
  plain({
    method: 'POST',
    path: applications,
    permission: 'organization:write',
    id: 'createApplication',
    summary: 'Create application',
    tag: 'Organizations',
    status: 201,
    problems: [409],
    body: NewApplication,
    answer: ApplicationDetails,
    handle: async call => {
      const made = await createPlace(call.deps, 'application', slugsOf(call), call.body);
      return created(call, `${placeOf(call)}a/${made.slug}/`, made);
    },
  }),
  plain({
    method: 'GET',
    path: '/api/o/:org/p/:prj/a/:app/',
    permission: 'organization:read',
    id: 'retrieveApplication',
    summary: 'Retrieve application',
    tag: 'Organizations',
    status: 200,
    answer: ApplicationDetails,
    handle: async call => tagged(call, await getPlace(call.deps, 'application', slugsOf(call))),
  }),
  plain({
    method: 'PATCH',
    path: '/api/o/:org/p/:prj/a/:app/',
    permission: 'organization:write',
    id: 'patchApplication',
    summary: 'Change application',
    tag: 'Organizations',
    status: 200,
    body: ApplicationChanges,
    answer: ApplicationDetails,
    handle: async call =>
      tagged(call, await updatePlace(call.deps, 'application', slugsOf(call), call.body, ifMatch(call))),
  }),
  plain({
    method: 'POST',
    path: events,
    permission: 'event:write',
    id: 'createEvent',
    summary: 'Create event',
    tag: 'Events',
    status: 201,
    problems: [409],
    body: NewEvent,
    answer: EventDetails,
    handle: async call => {
      const made = await createPlace(call.deps, 'event', slugsOf(call), call.body);
      return created(call, `${placeOf(call)}e/${made.slug}/`, made);
    },
  }),
  plain({
    method: 'GET',
    path: '/api/o/:org/p/:prj/a/:app/e/:evt/',
    permission: 'event:list',
    id: 'retrieveEvent',
    summary: 'Retrieve event',
    tag: 'Events',
    status: 200,
    answer: EventDetails,
    handle: async call => tagged(call, await getPlace(call.deps, 'event', slugsOf(call))),
  }),
  plain({
    method: 'PATCH',
    path: '/api/o/:org/p/:prj/a/:app/e/:evt/',
    permission: 'event:write',
    id: 'patchEvent',
    summary: 'Change event',
    tag: 'Events',
    status: 200,
    body: EventChanges,
    answer: EventDetails,
    handle: async call => tagged(call, await updatePlace(call.deps, 'event', slugsOf(call), call.body, ifMatch(call))),
  }),
];
