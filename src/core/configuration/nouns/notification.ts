import { type Static, Type } from 'typebox';
import { Digest } from '../../decision/digest.ts';
import { Canary } from '../../decision/guards/canary.ts';
import type { VariantTexts } from '../../decision/guards/variants.ts';
import {
  Ack,
  AcknowledgementExpires,
  channelsField,
  completeSteps,
  GiveUpAfter,
  onCallRecipients,
  type Step,
  type StepEntry,
  Steps,
} from '../../decision/steps.ts';
import { Throttle } from '../../decision/throttle.ts';
import { AttachmentEntries } from '../../message/attachments.ts';
import { Actions, Avatar } from '../../message/inbox-actions.ts';
import { normalizeLocale } from '../../text/text.ts';
import { priorities } from '../../trigger.ts';
import { declareNoun, type FieldsOf, withDefault } from './noun.ts';
import { locales, type Override, Overrides } from './parts/message-texts.ts';
import { Body, closed, Data, Expression, Name, Subject } from './schemas.ts';

export const Message = Type.Object(
  {
    subject: Type.Optional(Subject),
    body: Body,
    layout: Type.Optional(
      Type.String({
        ...Name,
        description: "Name of the layout. The project's layouts take precedence over the organization's.",
      }),
    ),
    strict: Type.Optional(
      Type.Boolean({ description: 'Whether the message fails when the context lacks a variable. Absent: false.' }),
    ),
    avatar: Type.Optional(Avatar),
    actions: Type.Optional(Actions),
    attachments: Type.Optional(AttachmentEntries),
    locales,
  },
  closed,
);

export const notification = declareNoun({
  name: 'notification',
  key: 'name',
  fields: {
    name: Name,
    active: withDefault(true, Type.Boolean()),
    recipients: Type.Object(
      {
        list: Type.Optional(Name),
        users: Type.Optional(Expression),
        ...onCallRecipients,
        trigger: Type.Optional(Type.Literal(true, { description: 'The recipients named by the trigger.' })),
      },
      { ...closed, minProperties: 1 },
    ),
    channels: Type.Optional(channelsField('Slugs or types. With `steps`: those of the steps without their own.')),
    steps: Type.Optional(Steps),
    give_up_after: Type.Optional(GiveUpAfter),
    acknowledgement_expires: Type.Optional(AcknowledgementExpires),
    ack: Type.Optional(Ack),
    notify_resolved: withDefault(
      false,
      Type.Boolean({ description: 'Whether notified recipients are also notified when it is resolved.' }),
    ),
    filter: Type.Optional(Type.String({ ...Expression, description: 'JMESPath over the context. Absent: always.' })),
    environs: Type.Optional(Type.Array(Name, { minItems: 1, maxItems: 100 })),
    extra_context: withDefault({}, Data),
    priority: Type.Optional(
      Type.Enum([...priorities], {
        description: "Absent: normal, or bulk for many recipients. The trigger's priority takes precedence.",
      }),
    ),
    throttle: Type.Optional(
      Type.Unsafe<Throttle>({ ...Throttle, description: 'Limit per recipient. Absent: no limit.' }),
    ),
    digest: Type.Optional(
      Type.Unsafe<Digest>({ ...Digest, description: 'Collects messages into a digest. Absent: no digest.' }),
    ),
    canary: Type.Optional(
      Type.Unsafe<Canary>({ ...Canary, description: 'Sends to a random sample first. Absent: to all at once.' }),
    ),
  },
  more: { message: Message, overrides: Type.Optional(Overrides) },
  /** Trims the names of lists, as stored names are. */
  normalize: ({ recipients, channels, steps }: Entry) => ({
    recipients: withTrimmedList(recipients),
    ...completeSteps(
      channels,
      steps?.map(step => (step.recipients ? { ...step, recipients: withTrimmedList(step.recipients) } : step)),
    ),
  }),
});

interface Entry {
  recipients: { list?: string };
  channels?: string[];
  steps?: StepEntry[];
}

export interface NotificationFields extends Omit<FieldsOf<typeof notification>, 'channels' | 'steps'> {
  /** Slugs or types. With steps: the channels of all steps. */
  channels: string[];
  steps: Step[] | null;
}

function withTrimmedList<Recipients extends { list?: string }>(recipients: Recipients): Recipients {
  return recipients.list === undefined ? recipients : { ...recipients, list: recipients.list.trim() };
}

/** Content of a message version. */
export interface StoredMessage {
  message: Static<typeof Message>;
  overrides: Static<typeof Overrides>;
  /** The texts of the second variant, if a canary compares two. */
  variant?: VariantTexts;
}

interface ContentEntry {
  message: StoredMessage['message'];
  overrides?: StoredMessage['overrides'];
  canary?: Canary | null;
}

/** Leaves out default values and normalizes language tags. */
export function toContent({ message, overrides = {}, canary }: ContentEntry): StoredMessage {
  const { layout, strict, avatar, actions = [], attachments = [] } = message;
  const { body = '', ...text } = toVariants(message);
  const { b } = canary?.variants ?? {};
  return {
    message: {
      ...text,
      body,
      ...(layout !== undefined && { layout }),
      ...(strict && { strict }),
      ...(avatar !== undefined && { avatar }),
      ...(actions.length > 0 && { actions }),
      ...(attachments.length > 0 && { attachments }),
    },
    overrides: toOverrides(overrides),
    ...(b && { variant: { message: toVariants(b.message), overrides: toOverrides(b.overrides ?? {}) } }),
  };
}

const toOverrides = (overrides: StoredMessage['overrides']) =>
  Object.fromEntries(Object.entries(overrides).map(([name, text]) => [name, toVariants(text)]));

type Variants = Static<typeof Override>;

function toVariants({ subject, body, locales = {} }: Variants): Variants {
  const translated = Object.entries(locales).map(([locale, text]) => [normalizeLocale(locale) ?? locale, text]);
  return {
    ...(subject !== undefined && { subject }),
    ...(body !== undefined && { body }),
    ...(translated.length > 0 && { locales: Object.fromEntries(translated) }),
  };
}
