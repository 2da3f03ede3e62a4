/** What is read of Opsgenie's API: https://docs.opsgenie.com/docs/api-overview. Names of kinds that are not known become notes. */
import { type Static, type TProperties, type TSchema, Type } from 'typebox';
import { lookUp } from '../../lookup.ts';

const record = <P extends TProperties>(fields: P) => Type.Object(fields, { additionalProperties: false });
const list = <T extends TSchema>(item: T, maxItems = 100_000) => Type.Array(item, { maxItems });
const text = Type.String({ maxLength: 20_000 });
const id = Type.String({ minLength: 1, maxLength: 200 });
const optionalText = Type.Optional(text);
const optionalFlag = Type.Optional(Type.Boolean());
const count = Type.Number({ minimum: 0, maximum: 1_000_000 });

/** A user, team, schedule or escalation; or no one, with the type `none`. */
const Reference = record({ type: optionalText, id: optionalText, name: optionalText, username: optionalText });

const Duration = record({ timeAmount: count, timeUnit: optionalText });

const Restriction = record({
  startDay: optionalText,
  startHour: Type.Optional(count),
  startMin: Type.Optional(count),
  endDay: optionalText,
  endHour: Type.Optional(count),
  endMin: Type.Optional(count),
});
const TimeRestriction = record({
  type: text,
  restriction: Type.Optional(Restriction),
  restrictions: Type.Optional(list(Restriction, 200)),
});

const Criteria = record({
  type: optionalText,
  conditions: Type.Optional(
    list(
      record({
        field: text,
        key: optionalText,
        not: optionalFlag,
        operation: text,
        expectedValue: optionalText,
      }),
      200,
    ),
  ),
});

const Contact = record({ method: text, to: optionalText, status: Type.Optional(record({ enabled: optionalFlag })) });

const NotificationRule = record({
  name: optionalText,
  actionType: text,
  order: Type.Optional(Type.Number()),
  enabled: optionalFlag,
  criteria: Type.Optional(Criteria),
  timeRestriction: Type.Optional(TimeRestriction),
  repeat: Type.Optional(record({ loopAfter: Type.Optional(count), enabled: optionalFlag })),
  steps: Type.Optional(
    list(
      record({
        contact: record({ method: text, to: optionalText }),
        sendAfter: Type.Optional(Duration),
        enabled: optionalFlag,
      }),
      200,
    ),
  ),
});

export const User = record({
  id,
  username: text,
  fullName: optionalText,
  timeZone: optionalText,
  locale: optionalText,
  blocked: optionalFlag,
  contacts: Type.Optional(list(Contact, 1_000)),
  notificationRules: Type.Optional(list(NotificationRule, 1_000)),
});

const RoutingRule = record({
  name: optionalText,
  order: Type.Optional(Type.Number()),
  isDefault: optionalFlag,
  criteria: Type.Optional(Criteria),
  timeRestriction: Type.Optional(TimeRestriction),
  notify: Type.Optional(Reference),
});

export const Team = record({
  id,
  name: text,
  members: Type.Optional(list(record({ user: Reference, role: optionalText }))),
  routingRules: Type.Optional(list(RoutingRule, 1_000)),
});

const Rotation = record({
  id: optionalText,
  name: optionalText,
  startDate: text,
  endDate: optionalText,
  type: text,
  length: Type.Optional(count),
  participants: list(Reference, 2_000),
  timeRestriction: Type.Optional(TimeRestriction),
  enabled: optionalFlag,
});

const Override = record({
  alias: optionalText,
  user: Reference,
  startDate: text,
  endDate: text,
  rotations: Type.Optional(list(Reference, 1_000)),
});

/** Who is on call by Opsgenie's own account. */
const Timeline = record({
  startDate: text,
  endDate: text,
  finalTimeline: record({
    rotations: Type.Optional(
      list(
        record({
          id: optionalText,
          name: optionalText,
          periods: Type.Optional(
            list(record({ startDate: text, endDate: text, type: optionalText, recipient: Type.Optional(Reference) })),
          ),
        }),
        1_000,
      ),
    ),
  }),
});

export const Schedule = record({
  id,
  name: text,
  timezone: optionalText,
  enabled: optionalFlag,
  rotations: Type.Optional(list(Rotation, 1_000)),
  overrides: Type.Optional(list(Override)),
  timeline: Type.Optional(Timeline),
});

export const Escalation = record({
  id,
  name: text,
  rules: Type.Optional(
    list(
      record({
        condition: optionalText,
        notifyType: optionalText,
        delay: Type.Optional(Duration),
        recipient: Type.Optional(Reference),
      }),
      1_000,
    ),
  ),
  repeat: Type.Optional(
    record({
      waitInterval: Type.Optional(count),
      count: Type.Optional(count),
      resetRecipientStates: optionalFlag,
      closeAlertAfterAll: optionalFlag,
    }),
  ),
});

export const Integration = record({
  id,
  name: text,
  type: text,
  enabled: optionalFlag,
  teamId: optionalText,
  ignoreRespondersFromPayload: optionalFlag,
  responders: Type.Optional(list(Reference, 1_000)),
});

export const ForwardingRule = record({ fromUser: Reference, toUser: Reference, startDate: text, endDate: text });

export const Policy = record({ id, name: optionalText, type: optionalText, enabled: optionalFlag, team: optionalText });

export const Maintenance = record({
  id,
  description: optionalText,
  status: optionalText,
  time: Type.Optional(record({ type: optionalText, startDate: optionalText, endDate: optionalText })),
  rules: Type.Optional(list(record({ state: optionalText, entity: Type.Optional(Reference) }), 1_000)),
});

/** The content of the saved file. */
export const OpsgenieExport = Type.Object(
  {
    source: Type.Literal('opsgenie'),
    version: Type.Literal(1),
    fetched_at: Type.String({ format: 'date-time' }),
    users: list(User),
    teams: list(Team),
    schedules: list(Schedule, 10_000),
    escalations: list(Escalation),
    integrations: list(Integration),
    forwarding_rules: list(ForwardingRule),
    policies: list(Policy),
    maintenance: list(Maintenance),
    /** Lists that the account's plan or the key does not give access to. */
    unread: list(text, 100),
  },
  { $id: 'OpsgenieExport', additionalProperties: false },
);
export type OpsgenieExport = Static<typeof OpsgenieExport>;
export type OpsgenieReference = Static<typeof Reference>;
export type OpsgenieRestriction = Static<typeof TimeRestriction>;
export type OpsgenieCriteria = Static<typeof Criteria>;
export type OpsgenieRotation = Static<typeof Rotation>;
export type OpsgenieUser = Static<typeof User>;
export type OpsgenieTeam = Static<typeof Team>;
export type OpsgenieSchedule = Static<typeof Schedule>;
export type OpsgenieEscalation = Static<typeof Escalation>;
export type OpsgenieIntegration = Static<typeof Integration>;

/** Returns the instant in milliseconds; undefined if the text is none. */
export function readTime(time: string | undefined): number | undefined {
  const instant = Date.parse(time ?? '');
  return Number.isNaN(instant) ? undefined : instant;
}

const unitMs: Record<string, number> = { minutes: 60_000, hours: 3_600_000, days: 86_400_000 };

/** Returns minutes; undefined if the unit is not known. */
export function readMinutes(duration: Static<typeof Duration> | undefined): number | undefined {
  if (!duration) return 0;
  const unit = lookUp(unitMs, duration.timeUnit ?? 'minutes');
  return unit && Math.round((duration.timeAmount * unit) / 60_000);
}

/** `20m` or `3h`; undefined for no time at all. */
export function durationOf(minutes: number): string | undefined {
  if (minutes === 0) return undefined;
  return minutes % 60 === 0 ? `${minutes / 60}h` : `${minutes}m`;
}
