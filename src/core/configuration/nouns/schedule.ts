import { Type } from 'typebox';
import { type UserGroup, UserGroups } from '../../audience/user-groups.ts';
import { changeLimits } from '../../oncall/changes.ts';
import { Layer, rotationLimits } from '../../oncall/rotation.ts';
import { foldLayers, scheduleLimits } from '../../oncall/schedule-rules.ts';
import { TestPages } from '../../oncall/test-pages.ts';
import { declareNoun, type FieldsOf, nameOrSlug, withDefault, withName } from './noun.ts';
import { eventOfProject, Name, Slug } from './schemas.ts';

interface GivenSchedule {
  slug: string;
  name?: string;
  layers: Layer[];
  fallback?: string;
  groups?: UserGroup[];
}

export const schedule = declareNoun({
  name: 'schedule',
  description: 'Says who is on call when. Notifications and steps can go to the users who are.',
  key: 'slug',
  max: scheduleLimits.schedules,
  fixed: { slug: 'notifications refer to it; create another one and delete this one' },
  fields: {
    slug: Slug,
    name: nameOrSlug,
    timezone: Type.String({ maxLength: 100, description: 'Time zone of its local times, such as Europe/Berlin.' }),
    layers: Type.Array(Layer, {
      minItems: 1,
      maxItems: rotationLimits.layers,
      description: 'Rotations. A later layer covers earlier ones at the times at which it has someone.',
    }),
    combine: withDefault(
      'cover',
      Type.Enum(['cover', 'all'], {
        description: '`cover`: a later layer covers earlier ones. `all`: the users of all layers are on call together.',
      }),
    ),
    fallback: Type.Optional(
      Type.String({
        ...Name,
        description: 'Name of the distribution list that is notified when no one is on call. Absent: no one is.',
      }),
    ),
    on_change: Type.Optional(
      Type.String({
        ...eventOfProject,
        description:
          'The event of the project, as application/event, that is triggered when someone else is on call, or will be within ' +
          `${changeLimits.days} days. Absent: none.`,
      }),
    ),
    page: Type.Optional(
      Type.String({
        ...eventOfProject,
        description:
          'The event of the project, as application/event, that is triggered to page the users on call by hand. Absent: it cannot be paged.',
      }),
    ),
    test: Type.Optional(
      Type.Unsafe<TestPages>({
        ...TestPages,
        description: 'Test pages, which each user of the layers gets regularly and has to acknowledge. Absent: none.',
      }),
    ),
    groups: Type.Optional(
      Type.Unsafe<UserGroup[]>({
        ...UserGroups,
        description: 'Groups in Slack and Mattermost whose members are the users on call at any time. Absent: none.',
      }),
    ),
  },
  normalize: ({ layers, fallback, groups, ...entry }: GivenSchedule) => ({
    ...withName(entry),
    layers: foldLayers(layers),
    fallback: fallback?.trim(),
    groups: groups?.length === 0 ? undefined : groups,
  }),
});
export type ScheduleFields = FieldsOf<typeof schedule>;
