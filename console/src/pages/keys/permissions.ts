/** What a key may do, in words: grouped by noun, as people think of it. */
import { texts } from '../../texts/keys.ts';

export const nounWords: Record<string, { name: string; meaning: string }> = {
  event: { name: texts.events, meaning: texts.triggerListAndEditEvents },
  occurrence: { name: texts.occurrences, meaning: texts.viewCancelReplayAndRetry },
  user: { name: texts.people, meaning: texts.peopleAndTheirAddresses },
  distributionlist: { name: texts.lists, meaning: texts.distributionListsAndTheirMembers },
  inbox: { name: texts.inbox, meaning: texts.inAppMessages },
  channel: { name: texts.channels, meaning: texts.channelsAndTheirProviders },
  notification: { name: texts.notifications, meaning: texts.recipientsChannelsAndFilters },
  template: { name: texts.messagesAndLayouts, meaning: texts.messageTemplatesAndEmailLayouts },
  configuration: { name: texts.configuration, meaning: texts.configurationFilesPlanApplyExport },
  organization: { name: texts.organization, meaning: texts.projectsApplicationsAndSettings },
  security: { name: texts.security, meaning: texts.twoFactorRequirement },
  account: { name: texts.team, meaning: texts.membersAndInvites },
  key: { name: 'Keys', meaning: 'API keys' },
  webhook: { name: texts.webhooks, meaning: texts.endpointsThatAreToldWhatHappens },
  audit: { name: texts.auditLog, meaning: texts.historyOfChanges },
  system: { name: texts.system, meaning: texts.healthCheck },
};

export interface Preset {
  name: string;
  meaning: string;
  includes: (permission: string) => boolean;
}

const anyOf = (wanted: string[]) => (permission: string) => wanted.includes(permission);

export const presets: Preset[] = [
  {
    name: texts.triggerOnly,
    meaning: texts.forApplicationsThatOnlySendNotifications,
    includes: anyOf(['event:trigger', 'system:ping']),
  },
  {
    name: texts.triggerAndFollow,
    meaning: texts.alsoReadsWhatBecameOfEach,
    includes: anyOf(['event:trigger', 'event:list', 'occurrence:read', 'system:ping']),
  },
  {
    name: texts.syncPeople,
    meaning: texts.forTheSystemThatManagesYour,
    includes: permission => /^(user|distributionlist):|^system:ping$/.test(permission),
  },
  {
    name: texts.deployConfiguration,
    meaning: texts.forBelfryPlanAndApplyIn,
    includes: anyOf(['configuration:read', 'configuration:write', 'organization:read', 'system:ping']),
  },
  {
    name: texts.readOnly,
    meaning: texts.readsEverythingChangesNothing,
    includes: name => /:(read|list|ping)$/.test(name),
  },
];

/** Permissions by noun, in the order of the words above; nouns without words come last. */
export function groupByNoun(permissions: string[]): [noun: string, permissions: string[]][] {
  const groups = new Map<string, string[]>(Object.keys(nounWords).map(noun => [noun, []]));
  for (const permission of permissions) {
    const noun = permission.split(':')[0]!;
    groups.set(noun, [...(groups.get(noun) ?? []), permission]);
  }
  return [...groups].filter(([, those]) => those.length > 0);
}
