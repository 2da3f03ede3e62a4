import { Type } from 'typebox';
import { userGroupLimits } from '../../../core/audience/user-groups.ts';
import { responseFieldsOf } from '../../../core/configuration/entries.ts';
import { pickFields } from '../../../core/configuration/nouns/noun.ts';
import { schedule as noun } from '../../../core/configuration/nouns/schedule.ts';
import * as groups from '../../../services/audience/on-call/groups.ts';
import * as schedules from '../../../services/audience/on-call/schedules.ts';
import { entryEndpoints } from '../../configuration/entry-endpoints.ts';
import { endpoints, slugsOf } from '../../server/route.ts';
import { nullable, nullableText, nullableTimestamp, time } from '../../server/schemas.ts';

export const Schedule = Type.Object(responseFieldsOf(noun), { $id: 'Schedule' });

export const entry = entryEndpoints(['org', 'prj'], 'schedule', {
  kind: schedules.schedule,
  tag: 'On call',
  at: 'schedules',
  answer: Schedule,
  create: call => schedules.createSchedule(call.deps, slugsOf(call), call.body),
  showRow: (_, row) => pickFields(noun, row as never) as never,
  descriptions: {
    create: 'Notifications and steps go to the users on call with `recipients: { schedule }`.',
    update: 'Applies to whatever is due from now on. Overrides are kept.',
    delete: 'Fails while a notification goes to it. Its overrides are deleted, too.',
  },
});

const FollowingGroup = Type.Object(
  {
    channel: Type.String({ description: 'Slug.' }),
    group: Type.String({ description: 'The ID of the group in the chat.' }),
    state: Type.Enum(['pending', 'current', 'kept', 'failing'], {
      description:
        'pending: to be updated. current: has the users on call. kept: no one on call can be in it, and Slack refuses an empty group, so ' +
        'that it keeps its last members. failing: the last attempt failed.',
    }),
    wanted: Type.Array(Type.String(), { description: 'Usernames of the users on call.' }),
    members: Type.Array(Type.String(), { description: 'Usernames of the members that the chat has confirmed.' }),
    left_out: Type.Array(Type.Object({ user: Type.String({ description: 'Username.' }), reason: Type.String() }), {
      description: `Users on call who are not in the group. They are looked up again every ${userGroupLimits.leftOutSeconds / 60} minutes.`,
    }),
    updated_at: nullable(time(), 'When the chat last confirmed the members. Null: not yet.'),
    error: nullableText,
    failing_since: nullableTimestamp,
    next_attempt_at: nullableTimestamp,
  },
  { $id: 'FollowingGroup' },
);

export const listScheduleGroups = endpoints('On call').plain(['org', 'prj', 'schedule'], {
  id: 'listScheduleGroups',
  summary: 'List groups that follow schedule',
  description: 'The groups in Slack and Mattermost that the schedule names in `groups`, and what became of them.',
  answer: Type.Array(FollowingGroup),
  handle: ({ deps, organization, schedule }) => groups.listScheduleGroups(deps, organization.id, schedule),
});
