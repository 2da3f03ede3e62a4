import type { ProjectEntry } from '../../core/configuration/document.ts';
import { changesSchemaOf, newSchemaOf } from '../../core/configuration/entries.ts';
import { project as noun } from '../../core/configuration/nouns/project.ts';
import { listRows } from '../../db/configuration/rows.ts';
import { createEntry, deleteEntry, updateEntry } from '../../services/configuration/entries.ts';
import { type Project as ProjectForm, project } from '../../services/configuration/projects.ts';
import { asCreated, ifMatch, withEtag } from '../server/etag.ts';
import { apiPathOf, type Call, list, plain, slugsOf } from '../server/route.ts';
import { CascadeQuery, Deleted, deletionOptions, Project } from '../server/schemas.ts';

const NewProject = newSchemaOf('NewProject', noun);
const ProjectChanges = changesSchemaOf<ProjectEntry>('ProjectChanges', noun);

type ProjectCall = Call & { organization: { slug: string } };

function showProject({ organization, link }: ProjectCall, { slug, name }: ProjectForm) {
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
  return ifMatch<ProjectForm>(call, current => showProject(call, current));
}

export const listProjects = list(['org'], {
  id: 'listProjects',
  summary: 'List projects',
  tag: 'Organizations',
  item: Project,
  list: async (call, page) => {
    const found = await listRows(call.deps.db, call.organization.id, 'project', { page });
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
    const made = await createEntry(call.deps, project, slugsOf(call), call.body);
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
    const changed = await updateEntry(call.deps, project, slugsOf(call), call.project.id, call.body, unchanged(call));
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
  handle: call => {
    const { deps, project: own, query } = call;
    return deleteEntry(deps, project, slugsOf(call), own.id, deletionOptions(query), unchanged(call));
  },
});
