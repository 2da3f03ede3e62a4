/** Pausing and resuming applications, events and channels. */
import { Type } from 'typebox';
import { limits, singleLine } from '../../core/text/text.ts';
import type { Pausable } from '../../db/configuration/pauses.ts';
import * as services from '../../services/configuration/pauses.ts';
import type { PathParameterName, SomeResources } from '../resolve.ts';
import { type Call, plain, slugPathOf } from '../server/route.ts';
import { nullable } from '../server/schemas.ts';

export const pauseFields = {
  paused: Type.Boolean({ description: 'Whether messages are held instead of sent.' }),
  paused_reason: nullable(Type.String(), 'Why it is paused. Null: no reason was given, or it is not paused.'),
  created_at: Type.String({ format: 'date-time' }),
};

const PauseBody = Type.Object(
  {
    reason: Type.Optional(
      Type.String({
        maxLength: limits.reason,
        ...singleLine,
        description:
          'Why, in one line: shown wherever the pause is. Pausing again without a reason keeps the previous one.',
      }),
    ),
  },
  { $id: 'Pausing', additionalProperties: false },
);
const PauseState = Type.Object({ paused: Type.Boolean() });
const ResumeState = Type.Object({
  paused: Type.Boolean(),
  released: Type.Integer({ description: 'Messages and occurrences that were held and are due now.' }),
});

interface PauseOptions {
  owner?: 'Organization' | 'Project';
  /** What resuming does. */
  description?: string;
}

/** Returns the endpoints that pause and resume an object. */
export function pauseEndpoints<const Name extends PathParameterName>(
  params: readonly Name[],
  noun: Pausable,
  tag: string,
  { owner, description = 'Held messages are sent.' }: PauseOptions = {},
) {
  const name = `${owner ?? ''}${noun[0]!.toUpperCase()}${noun.slice(1)}`;
  const label = owner ? `${owner.toLowerCase()} ${noun}` : noun;
  const targetOf = (call: SomeResources) => ({ noun, id: call[noun]!.id, path: slugPathOf(call) });
  type PauseCall = Call & SomeResources & { organization: { id: number } };
  const pause = plain(params, {
    id: `pause${name}`,
    summary: `Pause ${label}`,
    description: 'Messages are held until it is resumed. None is dropped.',
    tag,
    status: 200,
    body: PauseBody,
    answer: PauseState,
    handle: (async (call: PauseCall & { body: { reason?: string } }) => {
      await services.pause(call.deps, call.organization.id, targetOf(call), call.body.reason);
      return { paused: true };
    }) as never,
  });
  const resume = plain(params, {
    id: `resume${name}`,
    summary: `Resume ${label}`,
    description,
    tag,
    status: 200,
    answer: ResumeState,
    handle: (async (call: PauseCall) => ({
      paused: false,
      released: await services.resume(call.deps, call.organization.id, targetOf(call)),
    })) as never,
  });
  return [pause, resume] as const;
}
