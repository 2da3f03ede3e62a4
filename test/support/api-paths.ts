/** Values for each path parameter: one that exists, and ones that exist only elsewhere. */
import { keyIdOf, type Tenants } from './tenants.ts';

interface Values {
  /** A value that exists; a function if it depends on the rest of the path. */
  there: string | ((path: string) => string);
  /** Values that exist in another project, application or tenant. */
  elsewhere: string[];
  code: string;
}

export function pathValues({ acme, rival }: Tenants): Record<string, Values> {
  return {
    org: { there: acme.slug, elsewhere: [rival.slug], code: 'organization.not_found' },
    prj: { there: 'shop', elsewhere: [], code: 'project.not_found' },
    app: { there: 'web', elsewhere: ['forklift'], code: 'application.not_found' },
    evt: { there: 'order-paid', elsewhere: ['till-open', 'lift'], code: 'event.not_found' },
    username: { there: acme.username, elsewhere: [rival.username], code: 'user.not_found' },
    pk: {
      there: String(acme.listId),
      elsewhere: [acme.otherListId, rival.listId, rival.otherListId].map(String),
      code: 'list.not_found',
    },
    address: {
      there: String(acme.spareAddressId),
      elsewhere: [acme.addressIds[1], ...rival.addressIds, rival.spareAddressId].map(String),
      code: 'address.not_found',
    },
    member: {
      there: String(acme.memberIds[0]),
      elsewhere: [acme.memberIds[2], ...rival.memberIds].map(String),
      code: 'member.not_found',
    },
    suppression: {
      there: String(acme.suppressionId),
      elsewhere: [String(rival.suppressionId)],
      code: 'suppression.not_found',
    },
    key: {
      there: keyIdOf(acme.keys.onOtherApplication),
      elsewhere: [keyIdOf(rival.keys.all)],
      code: 'key.not_found',
    },
    category: { there: 'news', elsewhere: ['orders'], code: 'category.not_found' },
    channel: { there: 'relay', elsewhere: ['hooks'], code: 'channel.not_found' },
    identifier: {
      there: acme.occurrences[0]!.id,
      elsewhere: ['00000000-0000-7000-8000-000000000000', ...rival.occurrences.map(({ id }) => id)],
      code: 'occurrence.not_found',
    },
    silence: {
      there: acme.silenceId,
      elsewhere: ['00000000-0000-7000-8000-000000000000', rival.silenceId],
      code: 'silence.not_found',
    },
    delivery: {
      there: String(acme.occurrences[0]!.deliveryId),
      elsewhere: [acme.occurrences[1]!, ...rival.occurrences].map(({ deliveryId }) => String(deliveryId)),
      code: 'delivery.not_found',
    },
    attachment: {
      there: acme.attachmentIds[0]!,
      elsewhere: [acme.attachmentIds[1]!, ...rival.attachmentIds],
      code: 'attachment.not_found',
    },
    notification: {
      there: String(acme.notificationId),
      elsewhere: [acme.otherNotificationId, rival.notificationId, rival.otherNotificationId].map(String),
      code: 'notification.not_found',
    },
    layout: {
      there: path => String(path.includes(':prj') ? acme.layoutIds.project : acme.layoutIds.organization),
      elsewhere: [acme.layoutIds.otherProject, ...Object.values(rival.layoutIds)].map(String),
      code: 'layout.not_found',
    },
    version: { there: '1', elsewhere: ['2', '2147483648'], code: 'version.not_found' },
    message: {
      there: String(acme.messageIds[0]),
      elsewhere: [acme.messageIds[1], ...rival.messageIds].map(String),
      code: 'message.not_found',
    },
    account: {
      there: String(acme.accountIds[0]),
      elsewhere: rival.accountIds.map(String),
      code: 'account.not_found',
    },
    invite: {
      there: String(acme.inviteIds[0]),
      elsewhere: rival.inviteIds.map(String),
      code: 'invite.not_found',
    },
    webhook: { there: 'ops', elsewhere: ['rivals'], code: 'webhook.not_found' },
    source: { there: 'prometheus', elsewhere: ['rivals'], code: 'source.not_found' },
    schedule: { there: 'primary', elsewhere: ['rivals'], code: 'schedule.not_found' },
    swap: {
      there: String(acme.swapIds[0]),
      elsewhere: [acme.swapIds[1]!, ...rival.swapIds].map(String),
      code: 'swap.not_found',
    },
    absence: {
      there: String(acme.absenceIds[0]),
      elsewhere: [acme.absenceIds[1]!, ...rival.absenceIds].map(String),
      code: 'absence.not_found',
    },
    absence_calendar: {
      there: String(acme.absenceCalendarIds[0]),
      elsewhere: [acme.absenceCalendarIds[1]!, ...rival.absenceCalendarIds].map(String),
      code: 'absence_calendar.not_found',
    },
    override: {
      there: String(acme.overrideIds[0]),
      elsewhere: [acme.overrideIds[1]!, ...rival.overrideIds].map(String),
      code: 'override.not_found',
    },
    heartbeat: { there: 'backup', elsewhere: ['rivals'], code: 'heartbeat.not_found' },
    watch: { there: 'outside', elsewhere: ['rivals'], code: 'watch.not_found' },
    payload: {
      there: acme.payloadIds[0]!,
      elsewhere: [acme.payloadIds[1]!, ...rival.payloadIds],
      code: 'payload.not_found',
    },
    hook_message: {
      there: String(acme.webhookMessageIds[0]),
      elsewhere: [acme.webhookMessageIds[1], ...rival.webhookMessageIds].map(String),
      code: 'message.not_found',
    },
    session: { there: '1', elsewhere: [], code: 'session.not_found' },
    passkey: { there: '1', elsewhere: [], code: 'passkey.not_found' },
    token: { there: 'x'.repeat(43), elsewhere: [], code: 'invite.not_found' },
  };
}

export function parametersOf(path: string): string[] {
  return [...path.matchAll(/:(\w+)/g)].map(([, name]) => name!);
}

/** Fills the parameters with values that exist, except for those in `given`. */
export function fill(path: string, values: Record<string, Values>, given: Record<string, string> = {}): string {
  return path.replaceAll(/:(\w+)/g, (_, name: string) => {
    const there = values[name]?.there;
    const value = given[name] ?? (typeof there === 'function' ? there(path) : there);
    if (value === undefined) throw new Error(`add values for the parameter :${name} to test/support/api-paths.ts`);
    return encodeURIComponent(value);
  });
}
