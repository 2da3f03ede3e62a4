/** What is read of PagerDuty's API: https://developer.pagerduty.com/api-reference/ */
import { type Static, type TProperties, type TSchema, Type } from 'typebox';

/** Unknown fields are left out, also of the saved file: addresses of calendars and email filters may contain secrets. */
const resource = <P extends TProperties>(fields: P) => Type.Object(fields, { additionalProperties: false });
const text = Type.String({ maxLength: 10_000 });
const id = Type.String({ minLength: 1, maxLength: 100 });
const time = Type.String({
  format: 'date-time',
  // Far from the limits of a date, so that turns can be counted back and forth.
  pattern: '^(19|20|21)',
  patternHint: 'must be a time such as 2027-01-04T09:00:00Z',
});
const nullable = <T>(type: string, more: object = {}) =>
  Type.Optional(Type.Unsafe<T | null>({ type: [type, 'null'], ...more }));
const optionalText = nullable<string>('string', { maxLength: 10_000 });
const optionalTime = nullable<string>('string', { ...time, type: ['string', 'null'] });
const optionalNumber = nullable<number>('number');
const optionalBoolean = nullable<boolean>('boolean');
const list = <S extends TSchema>(items: S, maxItems = 10_000) => Type.Array(items, { maxItems });

const Reference = resource({ id, type: optionalText });
const references = Type.Optional(list(Reference));
const ContactMethod = resource({
  id,
  type: text,
  label: optionalText,
  address: optionalText,
  country_code: optionalNumber,
  blacklisted: optionalBoolean,
});
const NotificationRule = resource({
  id,
  urgency: text,
  start_delay_in_minutes: Type.Number(),
  contact_method: Type.Optional(Type.Union([Reference, Type.Null()])),
});
const User = resource({
  id,
  name: text,
  email: optionalText,
  time_zone: optionalText,
  teams: references,
  contact_methods: Type.Optional(list(ContactMethod)),
  notification_rules: Type.Optional(list(NotificationRule)),
});
const Team = resource({ id, name: text });
const Restriction = resource({
  type: text,
  start_time_of_day: text,
  duration_seconds: Type.Number(),
  start_day_of_week: optionalNumber,
});
const Layer = resource({
  id,
  name: optionalText,
  start: time,
  end: optionalTime,
  rotation_virtual_start: time,
  rotation_turn_length_seconds: Type.Number(),
  users: list(resource({ user: Reference })),
  restrictions: Type.Optional(list(Restriction)),
});
const Shift = resource({ user: id, from: time, until: optionalTime, rotation: optionalText });
const Final = resource({ from: time, until: time, shifts: list(Shift, 100_000) });
const Override = resource({ id: optionalText, start: time, end: time, user: Reference });
const Schedule = resource({
  id,
  name: text,
  time_zone: optionalText,
  schedule_layers: list(Layer, 1_000),
  overrides: list(Override),
  final: Type.Optional(Final),
});
const ZonedTime = resource({ date_time: time, time_zone: optionalText });
const Member = resource({ type: text, user_id: optionalText });
const Event = resource({
  id,
  name: optionalText,
  start_time: ZonedTime,
  end_time: ZonedTime,
  effective_since: time,
  effective_until: optionalTime,
  recurrence: list(text, 1_000),
  assignment_strategy: resource({ type: text, shifts_per_member: optionalNumber, members: list(Member, 200) }),
});
const ShiftSchedule = resource({
  id,
  name: text,
  time_zone: optionalText,
  rotations: list(resource({ id, events: list(Event, 1_000) }), 1_000),
  custom_shifts: list(
    resource({ id, start_time: time, end_time: time, assignments: list(resource({ member: Member }), 100) }),
  ),
  overrides: list(
    resource({ id, start_time: time, end_time: time, overridden_member: Member, overriding_member: Member }),
  ),
  final: Type.Optional(Final),
});
const EscalationRule = resource({
  escalation_delay_in_minutes: Type.Number({ minimum: 0 }),
  targets: list(Reference),
  strategy: optionalText,
});
const Policy = resource({
  id,
  name: text,
  num_loops: optionalNumber,
  escalation_rules: list(EscalationRule, 1_000),
});
const urgency = { type: optionalText, urgency: optionalText };
const Urgency = Type.Union([resource(urgency), Type.Null()]);
const Integration = resource({
  id,
  name: optionalText,
  type: text,
  vendor: optionalText,
  /** Without it, senders would have to be changed. */
  integration_key: optionalText,
  integration_email: optionalText,
});
const Service = resource({
  id,
  name: text,
  status: optionalText,
  acknowledgement_timeout: optionalNumber,
  auto_resolve_timeout: optionalNumber,
  escalation_policy: Type.Optional(Type.Union([Reference, Type.Null()])),
  urgency: Type.Optional(
    Type.Union([
      resource({
        ...urgency,
        during_support_hours: Type.Optional(Urgency),
        outside_support_hours: Type.Optional(Urgency),
      }),
      Type.Null(),
    ]),
  ),
  integrations: Type.Optional(list(Integration)),
});
const Window = resource({ id, description: optionalText, start_time: time, end_time: time, services: references });
const Named = resource({ id, name: text });

const lists = {
  users: list(User, 100_000),
  teams: list(Team, 100_000),
  schedules: list(Schedule),
  shift_schedules: list(ShiftSchedule),
  escalation_policies: list(Policy),
  services: list(Service, 100_000),
  maintenance_windows: list(Window),
  orchestrations: list(Named),
  rulesets: list(Named),
};

/** The content of the saved file. */
export const PagerDutyExport = Type.Object(
  {
    source: Type.Literal('pagerduty'),
    version: Type.Literal(1),
    fetched_at: time,
    ...lists,
    /** What the account does not have, or the token must not read. */
    not_read: list(text, 100),
  },
  { $id: 'PagerDutyExport', additionalProperties: false },
);
export type PagerDutyExport = Static<typeof PagerDutyExport>;
export type PagerDutyUser = Static<typeof User>;
export type PagerDutySchedule = Static<typeof Schedule>;
export type PagerDutyLayer = Static<typeof Layer>;
export type PagerDutyRestriction = Static<typeof Restriction>;
export type PagerDutyShiftSchedule = Static<typeof ShiftSchedule>;
export type PagerDutyEvent = Static<typeof Event>;
export type PagerDutyMember = Static<typeof Member>;
export type PagerDutyFinal = Static<typeof Final>;
export type PagerDutyPolicy = Static<typeof Policy>;
export type PagerDutyService = Static<typeof Service>;
export type PagerDutyIntegration = Static<typeof Integration>;

export { lists as resourceLists };
