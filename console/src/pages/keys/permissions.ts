/** What a key may do, in words: grouped by noun, as people think of it. */

export const nounWords: Record<string, { name: string; meaning: string }> = {
  event: { name: 'Events', meaning: 'Trigger them; see and change which there are' },
  occurrence: { name: 'Occurrences', meaning: 'What became of triggers; cancel, replay, retry' },
  user: { name: 'People', meaning: 'Users and their addresses' },
  distributionlist: { name: 'Lists', meaning: 'Distribution lists and their members' },
  inbox: { name: 'Inbox', meaning: 'Messages inside your own application' },
  channel: { name: 'Channels', meaning: 'Ways out and their providers' },
  notification: { name: 'Notifications', meaning: 'Who gets what, and when' },
  template: { name: 'Messages and layouts', meaning: 'The words themselves' },
  configuration: { name: 'Configuration', meaning: 'The declarative file: plan, apply, export' },
  organization: { name: 'Organization', meaning: 'Its projects, applications and settings' },
  security: { name: 'Security', meaning: 'Whether two-factor authentication is required' },
  account: { name: 'Team', meaning: 'Members of the organization and invites' },
  key: { name: 'Keys', meaning: 'Keys like this one' },
  audit: { name: 'Audit log', meaning: 'Who changed what' },
  system: { name: 'System', meaning: 'Whether the service answers' },
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
    meaning: 'For a program that sends notifications and nothing else',
    includes: anyOf(['event:trigger', 'system:ping']),
  },
  {
    name: 'Trigger and follow',
    meaning: 'Also asks what became of them',
    includes: anyOf(['event:trigger', 'event:list', 'occurrence:read', 'system:ping']),
  },
  {
    name: 'Keep people in step',
    meaning: 'For the program that knows your users',
    includes: permission => /^(user|distributionlist):|^system:ping$/.test(permission),
  },
  {
    name: 'Deploy configuration',
    meaning: 'For belfry plan and apply in your pipeline',
    includes: anyOf(['configuration:read', 'configuration:write', 'organization:read', 'system:ping']),
  },
  { name: 'Read only', meaning: 'Sees everything, changes nothing', includes: name => /:(read|list|ping)$/.test(name) },
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
