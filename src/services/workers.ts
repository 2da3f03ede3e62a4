/** An occurrence or delivery whose processing ends its worker is tried again twice, then set aside: it never stops others. */
import type { Logger } from 'pino';
import { countStepCrash } from '../db/steps.ts';
import { countDeliveryCrash, countOccurrenceCrash } from '../db/workers.ts';
import type { Deps } from './deps.ts';
import { countEnded } from './occurrences.ts';

const mostCrashes = 3;

interface Culprit {
  organizationId: number;
  occurrenceId: string;
  /** Undefined: the occurrence itself, or one of its steps, was being expanded. */
  deliveryId: number | undefined;
}

export async function countCrash(deps: Deps, culprit: Culprit, log: Pick<Logger, 'error'>): Promise<void> {
  const { organizationId, occurrenceId, deliveryId } = culprit;
  const { pool } = deps;
  const counted =
    deliveryId === undefined
      ? [
          await countOccurrenceCrash(pool, organizationId, occurrenceId, mostCrashes),
          await countStepCrash(pool, organizationId, occurrenceId, mostCrashes),
        ]
      : [await countDeliveryCrash(pool, organizationId, occurrenceId, deliveryId, mostCrashes)];
  for (const { ended } of counted) countEnded(deps, ended);
  const isSetAside = counted.some(one => one.isSetAside);
  if (isSetAside) log.error(culprit, `set aside what ended the engine ${mostCrashes} times; a replay tries it again`);
}
