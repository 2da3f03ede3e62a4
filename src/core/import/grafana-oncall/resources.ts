/** What is read of Grafana OnCall's API: https://grafana.com/docs/oncall/latest/oncall-api-reference/ */
import { type Static, type TProperties, Type } from 'typebox';

/** Unknown fields are left out, also of the saved file: templates and calendar addresses may contain secrets. */
const resource = <P extends TProperties>(fields: P) => Type.Object(fields, { additionalProperties: false });
const text = Type.String({ maxLength: 10_000 });
const id = Type.String({ minLength: 1, maxLength: 100 });
const nullable = <T>(type: string, more: object = {}) =>
  Type.Optional(Type.Unsafe<T | null>({ type: [type, 'null'], ...more }));
const ids = Type.Array(id);
const optionalText = nullable<string>('string', { maxLength: 10_000 });
const optionalNumber = nullable<number>('number');
const optionalIds = nullable<string[]>('array', { items: { type: 'string' } });
const optionalNumbers = nullable<number[]>('array', { items: { type: 'number' } });

const User = resource({
  id,
  email: optionalText,
  username: text,
  timezone: optionalText,
  teams: Type.Optional(ids),
  slack: nullable<{ user_id: string }>('object'),
});
const Team = resource({ id, name: text });
const Group = resource({ id, slack: nullable<{ name?: string; handle?: string }>('object') });
const Schedule = resource({
  id,
  name: text,
  type: text,
  time_zone: optionalText,
  shifts: optionalIds,
  has_calendar_overrides: Type.Optional(Type.Boolean()),
});
const Shift = resource({
  id,
  name: text,
  type: text,
  time_zone: optionalText,
  level: optionalNumber,
  start: text,
  duration: Type.Number(),
  rotation_start: optionalText,
  until: optionalText,
  frequency: optionalText,
  interval: optionalNumber,
  week_start: optionalText,
  by_day: optionalIds,
  by_month: optionalNumbers,
  by_monthday: optionalNumbers,
  users: optionalIds,
  rolling_users: nullable<string[][]>('array', { items: { type: 'array', items: { type: 'string' } } }),
  start_rotation_from_user_index: optionalNumber,
});
const Swap = resource({
  id,
  schedule: id,
  swap_start: text,
  swap_end: text,
  beneficiary: id,
  benefactor: optionalText,
});
const Chain = resource({ id, name: text });
const Policy = resource({
  id,
  escalation_chain_id: id,
  position: Type.Number(),
  type: optionalText,
  duration: optionalNumber,
  important: nullable<boolean>('boolean'),
  persons_to_notify: optionalIds,
  persons_to_notify_next_each_time: optionalIds,
  notify_on_call_from_schedule: optionalText,
  team_to_notify: optionalText,
  group_to_notify: optionalText,
});
const Integration = resource({
  id,
  name: text,
  type: text,
  /** Contains the token, without which its senders would have to be changed. */
  link: optionalText,
  default_route: nullable<{ escalation_chain_id?: string | null }>('object'),
  grouping_key: optionalText,
});
const Route = resource({
  id,
  integration_id: id,
  escalation_chain_id: optionalText,
  routing_type: optionalText,
  routing_regex: optionalText,
  position: Type.Number(),
  is_the_last_route: Type.Boolean(),
});
const Rule = resource({ id, user_id: id, type: optionalText });
const FinalShifts = resource({
  schedule: id,
  from: text,
  until: text,
  shifts: Type.Array(resource({ user_pk: id, shift_start: text, shift_end: text })),
});

/** The fields of each list of the API, by the name in its path. */
export const resources = {
  users: User,
  teams: Team,
  user_groups: Group,
  schedules: Schedule,
  on_call_shifts: Shift,
  shift_swaps: Swap,
  escalation_chains: Chain,
  escalation_policies: Policy,
  integrations: Integration,
  routes: Route,
  personal_notification_rules: Rule,
};
export type ResourceName = keyof typeof resources;

const lists = Object.fromEntries(
  Object.entries(resources).map(([name, item]) => [name, Type.Array(item, { maxItems: 100_000 })]),
) as { [Name in ResourceName]: ReturnType<typeof Type.Array<(typeof resources)[Name]>> };

/** The content of the saved file. */
export const OnCallExport = Type.Object(
  {
    source: Type.Literal('grafana-oncall'),
    version: Type.Literal(1),
    fetched_at: text,
    ...lists,
    /** What OnCall itself says about who is on call. */
    final_shifts: Type.Array(FinalShifts),
  },
  { $id: 'GrafanaOnCallExport', additionalProperties: false },
);
export type OnCallExport = Static<typeof OnCallExport>;
export type OnCallShift = Static<typeof Shift>;
export type OnCallPolicy = Static<typeof Policy>;
export type OnCallIntegration = Static<typeof Integration>;
export type OnCallRoute = Static<typeof Route>;

/** Returns the fields of an object that are read. */
export function pickFields(name: ResourceName, item: Record<string, unknown>): Record<string, unknown> {
  const own = {
    ...item,
    // Older versions have a list of them.
    ...(name === 'users' && { slack: [item.slack].flat()[0] ?? null }),
    ...(name === 'schedules' && { has_calendar_overrides: Boolean(item.ical_url_overrides) }),
    ...(name === 'integrations' && {
      grouping_key: (item.templates as { grouping_key?: unknown } | undefined)?.grouping_key ?? null,
    }),
  };
  const known = Object.keys(resources[name].properties);
  return Object.fromEntries(Object.entries(own).filter(([field]) => known.includes(field)));
}
