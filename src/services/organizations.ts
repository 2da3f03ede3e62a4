/** Reading what an organization is made of. */
import { AppError } from '../core/errors.ts';
import type { Place, Slugs } from '../db/places.ts';
import type { Deps } from './deps.ts';

export { listApplications } from '../db/applications.ts';
export { listChannels } from '../db/channels.ts';
export { listEvents } from '../db/events.ts';
export { listProjects } from '../db/projects.ts';

export async function getOrganization({ directory }: Deps, slug: string): Promise<Place['organization']> {
  const place = await directory.findPlace({ org: slug });
  if (!place) throw new AppError('organization.not_found', `there is no organization ${slug}`);
  return place.organization;
}

export async function getEvent({ directory }: Deps, slugs: Required<Slugs>): Promise<Required<Place>> {
  const { org, prj, app, evt } = slugs;
  const place = await directory.findPlace(slugs);
  if (!place) throw new AppError('organization.not_found', `there is no organization ${org}`);
  const { organization, project, application, event } = place;
  if (!project) throw new AppError('project.not_found', `there is no project ${prj} in ${org}`);
  if (!application) throw new AppError('application.not_found', `there is no application ${app} in ${org}/${prj}`);
  if (!event) throw new AppError('event.not_found', `there is no event ${evt} in ${org}/${prj}/${app}`);
  return { organization, project, application, event };
}
