/** Applies digests, bundles and throttles to decided pages, in the transaction that stores them. */
import type pg from 'pg';
import { listStored } from '../../db/ledger/expand/new-deliveries.ts';
import { currentTime } from '../../lib/time/clock.ts';
import { applyDigests, type DigestPlan } from '../../pipeline/digest.ts';
import { placeDeliveries } from '../../pipeline/page.ts';
import type { DecidedPage } from './frame.ts';

export interface PlacedPage extends DecidedPage {
  digestPlan?: DigestPlan | undefined;
}

/** Finds the deliveries of a further page that an earlier page has already put into a digest. */
export async function markStored<Page extends PlacedPage>(client: pg.PoolClient, page: Page): Promise<Page> {
  const { organization_id, id, deliveries, digestPlan } = page;
  if (!digestPlan || digestPlan.items.size === 0) return page;
  const stored = await listStored(client, organization_id, id, deliveries);
  return { ...page, digestPlan: { ...digestPlan, stored } };
}

export async function placePages<Page extends PlacedPage>(client: pg.PoolClient, pages: Page[]): Promise<Page[]> {
  const plans = pages.flatMap(page => page.digestPlan ?? []);
  if (plans.length === 0) return pages;
  const placements = await applyDigests(client, plans, currentTime());
  return pages.map(page => {
    const own = page.digestPlan && placements.get(page.digestPlan);
    return own ? { ...page, deliveries: placeDeliveries(page.deliveries, own) } : page;
  });
}
