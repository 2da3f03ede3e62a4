/** What the pause and resume endpoints of applications, events and channels share. */
import { Type } from 'typebox';
import { limits, singleLine } from '../../core/text/text.ts';
import type { Pausable } from '../../db/configuration/pauses.ts';
import type { SomeResources } from '../resolve.ts';
import { slugPathOf } from '../server/route.ts';

export const pausedReason = Type.Union([Type.String(), Type.Null()], {
  description: 'Why it is paused. Null: no reason was given, or it is not paused.',
});
export const PauseBody = Type.Object(
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
export const PauseState = Type.Object({ paused: Type.Boolean() });
export const ResumeState = Type.Object({
  paused: Type.Boolean(),
  released: Type.Integer({ description: 'Messages and occurrences that were held and are due now.' }),
});

/** Returns what the services pause or resume. */
export function targetOf<Noun extends Pausable>(noun: Noun, call: SomeResources & Record<Noun, { id: number }>) {
  return { noun, id: call[noun].id, path: slugPathOf(call) };
}
