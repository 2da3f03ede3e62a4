import { ProjectEntry } from '../../core/configuration/document.ts';
import { createSchemaOf, updateSchemaOf } from '../../core/configuration/entries.ts';
import * as queries from '../../db/configuration/projects.ts';
import * as projects from '../../services/configuration/projects.ts';
import { asCreated, ifMatch, withEtag } from '../server/etag.ts';
import { apiPathOf, type Call, list, plain, slugsOf } from '../server/route.ts';
import { CascadeQuery, Deleted, deletionOptions, Project } from '../server/schemas.ts';

const NewProject = createSchemaOf<projects.Project>('NewProject', ProjectEntry, ['slug', 'name']);
const ProjectChanges = updateSchemaOf<{ slug?: unknown; name?: string }>(
  'ProjectChanges',
  ProjectEntry,
  ['name'],
  ['slug'],
);

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

/** The ETag is that of the response, including its links. */
function unchanged(call: ProjectCall) {
  return ifMatch<projects.Project>(call, current => showProject(call, current));
}

export const listProjects = list(['org'], {
  id: 'listProjects',
  summary: 'List projects',
  tag: 'Organizations',
  item: Project,
  list: async (call, page) => {
    const found = await queries.listProjects(call.deps.db, call.organization.id, page);
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
    return asCreated(call, `${apiPathOf(call)}p/${made.slug}/`, showProject(call, made));
  },
});

export const retrieveProject = plain(['org', 'prj'], {
  id: 'retrieveProject',
  summary: 'Retrieve project',
  tag: 'Organizations',
  status: 200,
  answer: Project,
  handle: call => withEtag(call, showProject(call, call.project)),
});

export const updateProject = plain(['org', 'prj'], {
  id: 'updateProject',
  summary: 'Update project',
  tag: 'Organizations',
  status: 200,
  body: ProjectChanges,
  answer: Project,
  handle: async call => {
    const changed = await projects.updateProject(call.deps, slugsOf(call), call.body, unchanged(call));
    return withEtag(call, showProject(call, changed));
  },
});

export const deleteProject = plain(['org', 'prj'], {
  id: 'deleteProject',
  summary: 'Delete project',
  description: 'Fails if there are objects below it, unless `cascade` is true. History is kept.',
  tag: 'Organizations',
  status: 200,
  problems: [409],
  query: CascadeQuery,
  answer: Deleted,
  handle: call => projects.deleteProject(call.deps, slugsOf(call), deletionOptions(call.query), unchanged(call)),
});
