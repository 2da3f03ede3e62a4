/** An account of Opsgenie with a bit of everything, as its API shows it. `at` places what has to be in the future. */
import type { Account, Schedule } from './opsgenie.ts';

const user = (id: string, name: string) => ({ type: 'user', id, username: `${name}@acme.test` });
const [ann, bob, cem] = [user('U1', 'Ann'), user('U2', 'bob'), user('U3', 'cem')];
const minutes = (timeAmount: number) => ({ timeAmount, timeUnit: 'minutes' });
const ids = (items: { id: string; name?: string }[]) => items.map(({ id, name }) => ({ id, name }));

export function makeAccount(at: (days: number, time: string) => string): Account {
  const step = (method: string, to: string, after: number) => ({
    contact: { method, to },
    sendAfter: minutes(after),
    enabled: true,
  });
  const onPriority = (operation: string, expectedValue: string) => ({
    type: 'match-all-conditions',
    conditions: [{ field: 'priority', not: false, operation, expectedValue }],
  });
  const rules: ({ id: string; criteria?: object; steps?: object[] } & Record<string, unknown>)[] = [
    {
      ...{ id: 'N1', name: 'Serious', actionType: 'create-alert', order: 0, enabled: true },
      criteria: onPriority('greater-than', 'P3'),
      steps: [step('mobile', 'phone', 0), step('sms', '49-15112345678', 1), step('voice', '49-15112345678', 3)],
    },
    {
      ...{
        id: 'N2',
        name: 'All',
        actionType: 'create-alert',
        order: 1,
        enabled: true,
        criteria: { type: 'match-all' },
      },
      steps: [step('email', 'ann@acme.test', 0)],
    },
    { id: 'N3', name: 'Closed', actionType: 'closed-alert', order: 2, enabled: true },
  ];
  const contacts = [
    { id: 'C1', method: 'email', to: 'ann@acme.test', status: { enabled: true } },
    { id: 'C2', method: 'sms', to: '49-15112345678', status: { enabled: true } },
    { id: 'C3', method: 'voice', to: '49-15112345678', status: { enabled: true } },
    { id: 'C4', method: 'mobile', to: 'phone', status: { enabled: true } },
    { id: 'C5', method: 'sms', to: '1-123', status: { enabled: false, disabledReason: 'Not verified' } },
  ];
  const users = [
    {
      id: 'U1',
      username: 'Ann@acme.test',
      fullName: 'Ann Lee',
      timeZone: 'Europe/Berlin',
      locale: 'en_US',
      blocked: false,
    },
    { id: 'U2', username: 'bob@acme.test', fullName: 'Bob', timeZone: 'Asia/Kolkata', locale: 'en_GB', blocked: false },
    { id: 'U3', username: 'cem@acme.test', fullName: 'Cem Kaya', timeZone: 'nowhere', locale: 'tr_TR', blocked: false },
    { id: 'U4', username: 'dee@acme.test', fullName: 'Dee', timeZone: 'UTC', locale: 'en_US', blocked: true },
  ];
  const teams = [
    {
      ...{ id: 'T1', name: 'Database', description: '' },
      members: [
        { user: { id: 'U1', username: 'Ann@acme.test' }, role: 'admin' },
        { user: { id: 'U2', username: 'bob@acme.test' }, role: 'user' },
      ],
    },
    { id: 'T2', name: 'Web', members: [{ user: { id: 'U3', username: 'cem@acme.test' }, role: 'admin' }] },
  ];
  const schedules: Schedule[] = [
    {
      ...{ id: 'S1', name: 'Database', timezone: 'Europe/Berlin', enabled: true },
      rotations: [
        {
          ...{ id: 'R1', name: 'Week', startDate: '2026-08-03T07:00:00Z', type: 'weekly', length: 1 },
          participants: [ann, bob, cem],
        },
        {
          ...{ id: 'R2', name: 'Nights', startDate: '2026-08-03T18:00:00Z', type: 'daily', length: 1 },
          participants: [cem, { type: 'none' }],
          timeRestriction: {
            type: 'weekday-and-time-of-day',
            restrictions: ['monday', 'tuesday', 'wednesday', 'thursday', 'friday'].map((startDay, i, all) => ({
              ...{ startDay, startHour: 22, startMin: 0, endDay: all[i + 1] ?? 'saturday', endHour: 6, endMin: 30 },
            })),
          },
        },
        {
          ...{
            id: 'R3',
            name: 'Old',
            startDate: '2025-01-01T00:00:00Z',
            endDate: '2026-01-01T00:00:00Z',
            type: 'daily',
          },
          ...{ length: 2, participants: [bob] },
        },
      ],
      overrides: [
        { alias: 'holiday', user: bob, startDate: at(3, '10:00:00Z'), endDate: at(3, '12:00:00Z'), rotations: [] },
      ],
    },
    { id: 'S2', name: 'Unused', timezone: 'UTC', enabled: false, rotations: [], overrides: [] },
  ];
  const forwardings = [{ fromUser: ann, toUser: cem, startDate: at(20, '00:00:00Z'), endDate: at(30, '00:00:00Z') }];
  const schedule = { type: 'schedule', id: 'S1', name: 'Database' };
  const rule = (recipient: object, after: number, notifyType = 'default', condition = 'if-not-acked') => ({
    ...{ condition, notifyType, delay: minutes(after), recipient },
  });
  const escalations = [
    {
      ...{ id: 'E1', name: 'Page', description: '', ownerTeam: { id: 'T1', name: 'Database' } },
      rules: [
        rule({ type: 'team', id: 'T1', name: 'Database' }, 25, 'admins', 'if-not-closed'),
        rule(schedule, 0),
        rule(schedule, 10, 'next'),
      ],
      repeat: { waitInterval: 5, count: 1, resetRecipientStates: true, closeAlertAfterAll: false },
    },
    { id: 'E2', name: 'Anyone', rules: [rule({ type: 'team', id: 'T1', name: 'Database' }, 5, 'random')] },
  ];
  const integrations = [
    { id: 'I1', name: 'Prometheus', enabled: true, type: 'Prometheus', teamId: 'T1' },
    { id: 'I2', name: 'Default API', enabled: true, type: 'API' },
    { id: 'I3', name: 'Chat', enabled: true, type: 'Slack' },
  ];
  const defaultRule = (id: string, notify: object) => ({
    ...{
      id,
      name: 'Default',
      order: 9,
      isDefault: true,
      criteria: { type: 'match-all' },
      timezone: 'Europe/Berlin',
      notify,
    },
  });
  const routing = [
    {
      id: 'Q1',
      name: 'Serious',
      order: 0,
      isDefault: false,
      criteria: onPriority('less-than', 'P3'),
      notify: { type: 'none' },
    },
    {
      ...{
        id: 'Q2',
        name: 'Pattern',
        order: 1,
        isDefault: false,
        notify: { type: 'escalation', id: 'E2', name: 'Anyone' },
      },
      criteria: {
        type: 'match-any-condition',
        conditions: [{ field: 'message', not: false, operation: 'matches', expectedValue: 'db[0-9]+' }],
      },
    },
    defaultRule('Q3', { type: 'escalation', id: 'E1', name: 'Page' }),
  ];
  const policy = { id: 'P1', name: 'Suppress tests', type: 'alert', order: 0, enabled: true };
  const maintenance = {
    ...{ id: 'M1', status: 'planned', description: 'Move of the data center' },
    time: { type: 'schedule', startDate: at(5, '20:00:00Z'), endDate: at(5, '23:00:00Z') },
  };
  const disabled = { state: 'disabled', entity: { id: 'I1', type: 'integration' } };
  return {
    schedules,
    forwardings,
    lists: {
      'v2/users': users,
      ...Object.fromEntries(users.map(({ id }) => [`v2/users/${id}/contacts`, id === 'U1' ? contacts : []])),
      ...Object.fromEntries(
        users.map(({ id }) => [
          `v2/users/${id}/notification-rules`,
          id === 'U1' ? rules.map(({ steps, criteria, ...shown }) => shown) : [],
        ]),
      ),
      'v2/teams': ids(teams) as Account['lists'][string],
      'v2/teams/T1/routing-rules': routing,
      'v2/teams/T2/routing-rules': [defaultRule('Q4', schedule)],
      'v2/schedules': schedules.map(({ overrides, ...shown }) => shown),
      ...Object.fromEntries(
        schedules.map(({ id, overrides = [] }) => [
          `v2/schedules/${id}/overrides`,
          overrides as unknown as Account['lists'][string],
        ]),
      ),
      'v2/escalations': escalations,
      'v2/integrations': integrations,
      'v2/forwarding-rules': forwardings as unknown as Account['lists'][string],
      'v2/policies/alert': [policy],
      'v2/policies/alert?T1': [],
      'v2/policies/alert?T2': [],
      'v1/maintenance': [maintenance],
    },
    objects: {
      'v2/users/U1/notification-rules/N1': rules[0]!,
      'v2/users/U1/notification-rules/N2': rules[1]!,
      ...Object.fromEntries(teams.map(team => [`v2/teams/${team.id}`, team])),
      ...Object.fromEntries(
        integrations.map(one => [
          `v2/integrations/${one.id}`,
          { ...one, isGlobal: !one.teamId, ignoreRespondersFromPayload: false, responders: [] },
        ]),
      ),
      'v1/maintenance/M1': { ...maintenance, rules: [disabled] },
    },
    unpaid: ['v2/policies/notification'],
  };
}
