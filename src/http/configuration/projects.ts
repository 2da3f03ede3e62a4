import { plainKind } from '../../services/configuration/entries.ts';
import type { Call } from '../server/route.ts';
import { Project } from '../server/schemas.ts';
import { entryEndpoints } from './entry-endpoints.ts';

interface Names {
  slug: string;
  name: string;
}

function showProject({ organization, link }: Call & { organization: { slug: string } }, { slug, name }: Names) {
  const path = `/api/o/${organization.slug}/p/${slug}/`;
  return {
    name,
    slug,
    applications: link(`${path}a/`),
    channels: link(`${path}c/`),
    distribution_lists: link(`${path}d/`),
  };
}

export const entry = entryEndpoints(['org'], 'prj', {
  kind: plainKind('project'),
  tag: 'Organizations',
  at: 'p',
  answer: Project,
  cascades: true,
  showRow: showProject,
  // The ETag is that of the response, including its links.
  show: showProject,
  // The path names it already.
  retrieve: async call => call.project!,
});
