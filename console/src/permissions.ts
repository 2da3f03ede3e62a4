/** Names and presets for the permissions of a key, grouped by resource. */
import { texts } from './texts/keys.ts';

export const resourceTexts: Record<string, { name: string; meaning: string }> = {
  event: { name: texts.events, meaning: texts.eventsMeaning },
  occurrence: { name: texts.occurrences, meaning: texts.occurrencesMeaning },
  user: { name: texts.users, meaning: texts.usersMeaning },
  distributionlist: { name: texts.lists, meaning: texts.listsMeaning },
  category: { name: texts.categories, meaning: texts.categoriesMeaning },
  preference: { name: texts.preferences, meaning: texts.preferencesMeaning },
  token: { name: texts.tokens, meaning: texts.tokensMeaning },
  inbox: { name: texts.inbox, meaning: texts.inboxMeaning },
  channel: { name: texts.channels, meaning: texts.channelsMeaning },
  notification: { name: texts.notifications, meaning: texts.notificationsMeaning },
  template: { name: texts.messagesAndLayouts, meaning: texts.messagesAndLayoutsMeaning },
  configuration: { name: texts.configuration, meaning: texts.configurationMeaning },
  organization: { name: texts.organization, meaning: texts.organizationMeaning },
  security: { name: texts.security, meaning: texts.securityMeaning },
  account: { name: texts.team, meaning: texts.teamMeaning },
  key: { name: texts.keys, meaning: texts.keysMeaning },
  schedule: { name: texts.schedules, meaning: texts.schedulesMeaning },
  silence: { name: texts.silences, meaning: texts.silencesMeaning },
  source: { name: texts.sources, meaning: texts.sourcesMeaning },
  webhook: { name: texts.webhooks, meaning: texts.webhooksMeaning },
  audit: { name: texts.auditLog, meaning: texts.auditLogMeaning },
  system: { name: texts.system, meaning: texts.systemMeaning },
};

const actionTexts: Record<string, string> = {
  read: texts.read,
  list: texts.list,
  write: texts.write,
  trigger: texts.trigger,
  approve: texts.approve,
  delete: texts.delete,
  create: texts.create,
  ping: texts.ping,
};

/** Returns the label of a permission's action. */
export function actionName(permission: string): string {
  const action = permission.split(':')[1] ?? '';
  return actionTexts[action] ?? action;
}

/** Returns the label of a permission: `distributionlist:write` is `Lists: Write`. */
export function permissionName(permission: string): string {
  const noun = permission.split(':')[0]!;
  return texts.permissionName(resourceTexts[noun]?.name ?? noun, actionName(permission).toLowerCase());
}

export interface Preset {
  name: string;
  meaning: string;
  includes: (permission: string) => boolean;
}

const anyOf = (names: string[]) => (permission: string) => names.includes(permission);

export const presets: Preset[] = [
  {
    name: texts.triggerOnly,
    meaning: texts.triggerOnlyMeaning,
    includes: anyOf(['event:trigger', 'system:ping']),
  },
  {
    name: texts.triggerAndFollow,
    meaning: texts.triggerAndFollowMeaning,
    includes: anyOf(['event:trigger', 'event:list', 'occurrence:read', 'system:ping']),
  },
  {
    name: texts.syncUsers,
    meaning: texts.syncUsersMeaning,
    includes: permission => /^(user|distributionlist):|^system:ping$/.test(permission),
  },
  {
    name: texts.deployConfiguration,
    meaning: texts.deployConfigurationMeaning,
    includes: anyOf(['configuration:read', 'configuration:write', 'organization:read', 'system:ping']),
  },
  {
    name: texts.readOnly,
    meaning: texts.readOnlyMeaning,
    includes: name => /:(read|list|ping)$/.test(name),
  },
];

/** Groups permissions by resource, in the order above; unnamed resources come last. */
export function groupByNoun(permissions: string[]): [noun: string, permissions: string[]][] {
  const groups = new Map<string, string[]>(Object.keys(resourceTexts).map(noun => [noun, []]));
  for (const permission of permissions) {
    const noun = permission.split(':')[0]!;
    groups.set(noun, [...(groups.get(noun) ?? []), permission]);
  }
  return [...groups].filter(([, members]) => members.length > 0);
}
