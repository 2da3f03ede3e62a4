/**
 * What becomes of an occurrence when one of its alerts is more serious than all before.
 *
 * | the occurrence | a notification                                         | what happens                                   |
 * | -------------- | ------------------------------------------------------ | ---------------------------------------------- |
 * | acknowledged   | with steps applies                                     | it is open again: these steps run from the first one |
 * | open           | with steps applies only now                            | its steps begin; others go on                  |
 * | either         | without steps applies only now                         | the occurrence is replaced, as only an expansion notifies its recipients |
 * | acknowledged   | none with steps applies                                | the same                                       |
 */

import { decideNotification } from '../../../core/decision/decide.ts';
import { actorName } from '../../../core/identity/actor.ts';
import type { JsonObject } from '../../../core/json.ts';
import type { TriggerOptions } from '../../../core/trigger.ts';
import { raiseAcknowledgedOccurrence } from '../../../db/ledger/expand/answers.ts';
import { type RaisableOccurrence, raiseOpenOccurrence } from '../../../db/ledger/expand/raises.ts';
import { currentTime } from '../../../lib/time/clock.ts';
import { listUpdatable } from '../../../providers/provider.ts';
import type { Deps } from '../../deps.ts';
import { finish, steppedOf, toRounds } from './acknowledgements.ts';

/** Gives the occurrence the context of the alert. Returns whether it has to be replaced instead. */
export async function raise(
  deps: Deps,
  organizationId: number,
  occurrence: RaisableOccurrence,
  context: JsonObject,
): Promise<{ isReplaced: boolean }> {
  const { pool, plans } = deps;
  const { id, event_id, is_acknowledged } = occurrence;
  const options = occurrence.options as TriggerOptions;
  const plan = await plans.findEvent(organizationId, event_id);
  const now = currentTime();
  const applying = (plan?.notifications ?? []).filter(one => decideNotification(one, context, options) === undefined);
  const stepped = steppedOf(applying, options);
  const hasNewSingle = applying.some(
    one => !one.steps && decideNotification(one, occurrence.context, options) !== undefined,
  );
  if (hasNewSingle || (is_acknowledged && stepped.length === 0)) return { isReplaced: true };
  const by = actorName(deps.actor);
  const change = {
    ...toRounds(stepped.map(one => ({ ...one, at: now }))),
    awaitsAcknowledgement: stepped.some(({ steps }) => steps.asksForAcknowledgement),
    context,
    by,
  };
  if (!is_acknowledged) {
    await raiseOpenOccurrence(pool, organizationId, id, change);
    return { isReplaced: false };
  }
  const answered = await raiseAcknowledgedOccurrence(pool, organizationId, id, {
    ...change,
    updatable: listUpdatable(deps.providers),
  });
  await finish(deps, organizationId, id, answered, { action: 'reopen', by });
  return { isReplaced: false };
}
