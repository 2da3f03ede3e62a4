import { ProjectEntry } from '../core/configuration/document.ts';
import { changesOf, fieldsOf } from '../core/entries.ts';
import * as projects from '../services/projects.ts';
import { created, ifMatch, tagged } from './etag.ts';
import { type Call, list, placeOf, plain, slugsOf } from './route.ts';
import { CascadeQuery, Deleted, deletionOf, Project } from './schemas.ts';

const NewProject = fieldsOf<projects.Project>('NewProject', ProjectEntry, ['slug', 'name']);
const ProjectChanges = changesOf<{ slug?: unknown; name?: string }>('ProjectChanges', ProjectEntry, ['name'], ['slug']);

type ProjectCall = Call & { organization: { slug: string } };

function showProject({ organization, link }: ProjectCall, { slug, name }: projects.Project) {
  const path = `/api/o/${organization.slug}/p/${slug}/`;
  return {
    name,
    slug,
    applications: link(`${path}a/`),
    channels: link(`${path}c/`),
    distribution_lists: link(`${path}d/`),
  };
}

/** The tag is that of the form with its links. */
function unchanged(call: ProjectCall) {
  return ifMatch<projects.Project>(call, current => showProject(call, current));
}

export const listProjects = list(['org'], {
  id: 'listProjects',
  summary: 'List projects',
  tag: 'Organizations',
  item: Project,
  list: async (call, page) => {
    const found = await projects.listProjects(call.deps, call.organization.id, page);
    return found.map(row => ({ id: row.id, ...showProject(call, row) }));
  },
});

export const createProject = plain(['org'], {
  id: 'createProject',
  summary: 'Create project',
  tag: 'Organizations',
  status: 201,
  problems: [409],
  body: NewProject,
  answer: Project,
  handle: async call => {
    const made = await projects.createProject(call.deps, slugsOf(call), call.body);
    return created(call, `${placeOf(call)}p/${made.slug}/`, showProject(call, made));
  },
});

export const retrieveProject = plain(['org', 'prj'], {
  id: 'retrieveProject',
  summary: 'Retrieve project',
  tag: 'Organizations',
  status: 200,
  answer: Project,
  handle: call => tagged(call, showProject(call, call.project)),
});

export const patchProject = plain(['org', 'prj'], {
  id: 'patchProject',
  summary: 'Change project',
  tag: 'Organizations',
  status: 200,
  body: ProjectChanges,
  answer: Project,
  handle: async call => {
    const changed = await projects.updateProject(call.deps, slugsOf(call), call.body, unchanged(call));
    return tagged(call, showProject(call, changed));
  },
});

export const deleteProject = plain(['org', 'prj'], {
  id: 'deleteProject',
  summary: 'Delete project',
  description: 'What has something below it is refused, unless `cascade` is given. History stays.',
  tag: 'Organizations',
  status: 200,
  problems: [409],
  query: CascadeQuery,
  answer: Deleted,
  handle: call => projects.deleteProject(call.deps, slugsOf(call), deletionOf(call.query), unchanged(call)),
});
