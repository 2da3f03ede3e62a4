import type { Content } from '../../core/render/render.ts';
import { isUnavailable } from '../../db/connection/pool.ts';
import type { Delivery } from '../../db/ledger/deliver/deliveries.ts';
import type { EventPlan } from '../../pipeline/event-plan.ts';
import type { Outcome } from '../../providers/sending.ts';
import type { InboxWriter } from '../../services/audience/inbox.ts';

/**
 * Sends an in-app message by storing it. Its id is the delivery's, so storing it again after a crash or a lost response
 * has no effect. An unavailable database is handled by `settleError` and costs no attempt.
 */
export async function storeInApp(
  inbox: InboxWriter,
  { organization_id, user_id, occurrence_id, id }: Delivery,
  plan: EventPlan,
  { title, text: body, avatar, actions: shown }: Content,
): Promise<Outcome> {
  const actions = shown?.map(({ event, ...action }) =>
    event === undefined ? action : { ...action, event: `${plan.project.slug}/${plan.application.slug}/${event}` },
  );
  const fields = { title, body, category: plan.topic.category.slug, avatar, actions };
  try {
    await inbox.add({ organization_id, user_id, id, occurrence_id, ...fields });
    return { ok: true };
  } catch (error) {
    if (isUnavailable(error)) throw error;
    // If the user was deleted meanwhile, the check before the next attempt finds out.
    return { ok: false, retry: true, reason: `the message could not be stored: ${(error as Error).message}` };
  }
}
