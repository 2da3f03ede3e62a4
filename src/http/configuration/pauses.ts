/** Pausing and resuming: what is paused holds its messages. */
import { Type } from 'typebox';
import { invalid } from '../../core/errors.ts';
import { limits, singleLine } from '../../core/text/text.ts';
import { findPauseCause, type Pausable } from '../../db/configuration/pauses.ts';
import { pause, resume } from '../../services/configuration/pauses.ts';
import { requireApprover } from '../identity/approver.ts';
import type { PathParameterName, SomeResources } from '../resolve.ts';
import { type Call, endpoints, slugPathOf } from '../server/route.ts';
import { nullable } from '../server/schemas.ts';

const { plain } = endpoints('Events');

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
const ResumeBody = Type.Object(
  {
    per_second: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 100_000,
        description:
          'How much of what is held is due per second: messages first, then occurrences that have no messages yet. Without it, ' +
          'all at once. A fan-out counts as one occurrence.',
      }),
    ),
    drop: Type.Optional(
      Type.Boolean({
        description:
          'Whether what is held is cancelled instead of sent, unless another pause holds it, too. Not with `per_second`.',
      }),
    ),
  },
  { $id: 'Resuming', additionalProperties: false },
);
const PauseState = Type.Object({ paused: Type.Boolean() });
const ResumeState = Type.Object({
  paused: Type.Boolean(),
  released: Type.Integer({ description: 'Messages and occurrences that were held and are due now, or at the rate.' }),
  dropped: Type.Integer({ description: 'Messages and occurrences that were held and are cancelled.' }),
});

/** Returns what the services pause or resume. */
function targetOf(noun: Pausable, call: SomeResources) {
  const { id } = call[noun as 'event']!;
  if (noun === 'organization') return { noun, id, path: call.organization!.slug };
  return { noun, id, path: noun === 'key' ? call.key!.name : slugPathOf(call) };
}

/** Defines the two endpoints of a noun; `name` is the end of their operationIds. */
function pausing<const Name extends PathParameterName>(
  noun: Pausable,
  params: readonly Name[],
  { name, lower = noun, tag = 'Events' }: { name: string; lower?: string; tag?: string },
) {
  const holds = noun === 'key' ? 'Triggers of the key are accepted, and their messages held' : 'Messages are held';
  return [
    plain(params, {
      id: `pause${name}`,
      summary: `Pause ${lower}`,
      description: `${holds} until it is resumed. None is dropped.`,
      tag,
      body: PauseBody,
      answer: PauseState,
      handle: async call => {
        const { deps, organization, body } = call as typeof call & { organization: { id: number } };
        await pause(deps, organization.id, targetOf(noun, call as SomeResources), body.reason);
        return { paused: true };
      },
    }),
    plain(params, {
      id: `resume${name}`,
      summary: `Resume ${lower}`,
      description:
        noun === 'channel'
          ? 'Held messages are sent or dropped, also those that the reputation guard has held.'
          : 'Held messages are sent or dropped.',
      tag,
      body: ResumeBody,
      answer: ResumeState,
      handle: async call => {
        const { deps, organization, body } = call as typeof call & { organization: { id: number } };
        const { per_second: perSecond, drop } = body;
        if (drop && perSecond !== undefined)
          throw invalid({ per_second: ['cannot be combined with drop: leave one of them out'] });
        const target = targetOf(noun, call as SomeResources);
        // Dropping sends nothing.
        if (!drop && (await findPauseCause(deps.db, organization.id, target)))
          requireApprover(call as Call & SomeResources, 'releasing what the rate guard holds');
        return { paused: false, ...(await resume(deps, organization.id, target, { perSecond, drop })) };
      },
    }),
  ] as const;
}

export const [pauseOrganization, resumeOrganization] = pausing('organization', ['org'], { name: 'Organization' });
export const [pauseProject, resumeProject] = pausing('project', ['org', 'prj'], { name: 'Project' });
export const [pauseApplication, resumeApplication] = pausing('application', ['org', 'prj', 'app'], {
  name: 'Application',
});
export const [pauseEvent, resumeEvent] = pausing('event', ['org', 'prj', 'app', 'evt'], { name: 'Event' });
export const [pauseKey, resumeKey] = pausing('key', ['org', 'key'], { name: 'Key', tag: 'Keys' });
export const [pauseOrganizationChannel, resumeOrganizationChannel] = pausing('channel', ['org', 'channel'], {
  name: 'OrganizationChannel',
  lower: 'organization channel',
  tag: 'Channels',
});
export const [pauseProjectChannel, resumeProjectChannel] = pausing('channel', ['org', 'channel'], {
  name: 'ProjectChannel',
  lower: 'project channel',
  tag: 'Channels',
});
