/** What a key may do, in words: grouped by noun, as people think of it. */

export const nounWords: Record<string, { name: string; meaning: string }> = {
  event: { name: 'Events', meaning: 'Trigger, list and edit events' },
  occurrence: { name: 'Occurrences', meaning: 'View, cancel, replay and retry' },
  user: { name: 'People', meaning: 'People and their addresses' },
  distributionlist: { name: 'Lists', meaning: 'Distribution lists and their members' },
  inbox: { name: 'Inbox', meaning: 'In-app messages' },
  channel: { name: 'Channels', meaning: 'Channels and their providers' },
  notification: { name: 'Notifications', meaning: 'Recipients, channels and filters' },
  template: { name: 'Messages and layouts', meaning: 'Message templates and email layouts' },
  configuration: { name: 'Configuration', meaning: 'Configuration files: plan, apply, export' },
  organization: { name: 'Organization', meaning: 'Projects, applications and settings' },
  security: { name: 'Security', meaning: 'Two-factor requirement' },
  account: { name: 'Team', meaning: 'Members and invites' },
  key: { name: 'Keys', meaning: 'API keys' },
  audit: { name: 'Audit log', meaning: 'History of changes' },
  system: { name: 'System', meaning: 'Health check' },
};

export interface Preset {
  name: string;
  meaning: string;
  includes: (permission: string) => boolean;
}

const anyOf = (wanted: string[]) => (permission: string) => wanted.includes(permission);

export const presets: Preset[] = [
  {
    name: 'Trigger only',
    meaning: 'For applications that only send notifications',
    includes: anyOf(['event:trigger', 'system:ping']),
  },
  {
    name: 'Trigger and follow',
    meaning: 'Also reads what became of each trigger',
    includes: anyOf(['event:trigger', 'event:list', 'occurrence:read', 'system:ping']),
  },
  {
    name: 'Sync people',
    meaning: 'For the system that manages your users',
    includes: permission => /^(user|distributionlist):|^system:ping$/.test(permission),
  },
  {
    name: 'Deploy configuration',
    meaning: 'For belfry plan and apply in CI',
    includes: anyOf(['configuration:read', 'configuration:write', 'organization:read', 'system:ping']),
  },
  {
    name: 'Read only',
    meaning: 'Reads everything, changes nothing',
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
