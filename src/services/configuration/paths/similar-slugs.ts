/** Suggests the slug that was meant. For operators only: others must not learn which slugs exist. */
import { AppError } from '../../../core/errors.ts';
import { listOrganizationsAcrossTenants } from '../../../db/configuration/organizations.ts';
import { listSlugs } from '../../../db/configuration/slugs.ts';
import { closestOf } from '../../../lib/closest.ts';
import type { Deps } from '../../deps.ts';

/** Returns the error with a suggestion, if it is about a slug that does not exist and a similar one does. */
export async function suggestSlug({ db, tenantCache }: Deps, error: unknown): Promise<unknown> {
  const slugs = error instanceof AppError ? error.details.slugs : undefined;
  if (!(error instanceof AppError) || !slugs) return error;
  const { org, prj, app, evt } = slugs;
  const found = await tenantCache.resolvePath(slugs);
  const { organization, project, application } = found ?? {};
  const wrong = !organization ? org : !project ? prj : !application ? app : evt;
  const candidates = organization
    ? await listSlugs(db, organization.id, { project: project?.id, application: application?.id })
    : (await listOrganizationsAcrossTenants(db)).map(({ slug }) => slug);
  const meant = wrong && closestOf(wrong, candidates);
  if (!meant) return error;
  return new AppError(error.code, `${error.message} (did you mean ${meant}?)`, error.details);
}
