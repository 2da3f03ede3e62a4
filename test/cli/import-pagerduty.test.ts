/** `belfry import pagerduty` against a server that answers as PagerDuty does. */
import { readFile, stat, writeFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ImportTarget, openImportTarget } from '../support/imports.ts';
import { type Account, openPagerDuty } from '../support/pagerduty.ts';
import type { Finished } from '../support/process.ts';

const token = 'pagerduty-token-of-the-test';
const key = (letter: string) => letter.repeat(32);
const inDays = (days: number, time: string) =>
  `${new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10)}T${time}Z`;
const user = (id: string) => ({ id, type: 'user_reference', summary: id });
const method = (id: string, type: string, more: object) => ({
  id,
  type: `${type}_contact_method`,
  label: 'Work',
  ...more,
});
const rule = (id: string, urgency: string, minutes: number, contact: string, type: string) => ({
  id,
  type: 'assignment_notification_rule',
  urgency,
  start_delay_in_minutes: minutes,
  contact_method: { id: contact, type: `${type}_contact_method_reference` },
});
const layer = (id: string, name: string, seconds: number, users: string[], more: object = {}) => ({
  id,
  name,
  start: '2026-08-03T11:00:00+02:00',
  end: null,
  rotation_virtual_start: '2026-08-03T09:00:00+02:00',
  rotation_turn_length_seconds: seconds,
  users: users.map(one => ({ user: user(one) })),
  restrictions: [],
  ...more,
});
const zoned = (date_time: string) => ({ date_time, time_zone: 'Europe/Berlin' });
const escalation = (minutes: number, targets: object[], strategy = 'assign_to_everyone') => ({
  id: 'ER',
  escalation_delay_in_minutes: minutes,
  targets,
  escalation_rule_assignment_strategy: [{ type: strategy }],
});
const integration = (id: string, type: string, name: string, integration_key: string | null, more: object = {}) => ({
  id,
  type: `${type}_inbound_integration`,
  name,
  integration_key,
  ...more,
});
const policy = { id: 'P1', type: 'escalation_policy_reference' };

const account: Account = {
  lists: {
    users: [
      {
        id: 'U1',
        type: 'user',
        name: 'Ann Ash',
        email: 'Ann@acme.test',
        time_zone: 'Eastern Time (US & Canada)',
        role: 'admin',
        teams: [{ id: 'T1', type: 'team_reference' }],
        contact_methods: [
          method('C1', 'email', { address: 'ann@acme.test' }),
          method('C2', 'phone', { address: '5555550100', country_code: 1 }),
          method('C3', 'sms', { address: '5555550100', country_code: 1 }),
          method('C4', 'sms', { address: '5555550109', country_code: 1 }),
          method('C5', 'push_notification', { address: 'device', device_type: 'ios' }),
        ],
        notification_rules: [
          rule('N1', 'high', 0, 'C3', 'sms'),
          rule('N2', 'high', 0, 'C5', 'push_notification'),
          rule('N3', 'high', 5, 'C2', 'phone'),
          rule('N4', 'low', 0, 'C1', 'email'),
          rule('N5', 'high', 7, 'C4', 'sms'),
          rule('N6', 'severe', 7, 'C4', 'sms'),
        ],
      },
      {
        id: 'U2',
        name: 'Bob',
        email: 'bob@acme.test',
        time_zone: 'Europe/Berlin',
        teams: [{ id: 'T1' }],
        contact_methods: [],
      },
      {
        id: 'U3',
        name: 'Cem',
        email: 'cem@acme.test',
        time_zone: 'Nowhere',
        teams: [],
        contact_methods: [method('C9', 'pigeon', {})],
      },
      { id: 'U4', name: 'Dee', email: '', time_zone: null, teams: [] },
    ],
    teams: [{ id: 'T1', type: 'team', name: 'Database', default_role: 'manager' }],
    escalation_policies: [
      {
        id: 'P1',
        name: 'Production',
        num_loops: 1,
        escalation_rules: [
          escalation(10, [
            { id: 'S1', type: 'schedule_reference' },
            { id: 'S3', type: 'schedule_v3_reference' },
          ]),
          escalation(
            30,
            [
              { id: 'U2', type: 'user_reference' },
              { id: 'U3', type: 'user_reference' },
            ],
            'round_robin',
          ),
          escalation(30, [{ id: 'X', type: 'robot_reference' }]),
        ],
      },
    ],
    services: [
      {
        id: 'V1',
        name: 'Shop',
        status: 'active',
        acknowledgement_timeout: 1_800,
        auto_resolve_timeout: 14_400,
        escalation_policy: policy,
        incident_urgency_rule: { type: 'constant', urgency: 'severity_based' },
        integrations: [
          integration('I1', 'events_api_v2', 'Prometheus', key('a')),
          integration('I2', 'generic_email', 'Mails', null, { integration_email: 'shop@acme.pagerduty.com' }),
          integration('I3', 'event_transformer_api', 'Datadog', key('b'), { vendor: { id: 'VX', summary: 'Datadog' } }),
        ],
      },
      {
        id: 'V2',
        name: 'Old',
        status: 'disabled',
        escalation_policy: policy,
        integrations: [integration('I4', 'events_api_v2', 'Old', key('c'))],
      },
    ],
    maintenance_windows: [
      {
        id: 'M1',
        description: "New disks, Ann's",
        start_time: inDays(2, '20:00:00'),
        end_time: inDays(2, '22:00:00'),
        services: [{ id: 'V1', type: 'service_reference' }],
      },
    ],
    rulesets: [{ id: 'RS1', name: 'Default Global' }],
  },
  schedules: [
    {
      id: 'S1',
      name: 'Primary',
      time_zone: 'Europe/Berlin',
      http_cal_url: 'https://acme.pagerduty.com/private/very-secret.ics',
      schedule_layers: [
        layer('L3', 'Gone', 86_400, ['U3'], { end: '2026-09-01T09:00:00+02:00' }),
        layer('L2', 'Nights', 86_400, ['U3', 'U1'], {
          restrictions: [{ type: 'daily_restriction', start_time_of_day: '18:00:00', duration_seconds: 54_000 }],
        }),
        layer('L1', 'Week', 604_800, ['U1', 'U2', 'U3']),
      ],
    },
    { id: 'S2', name: 'Empty', time_zone: 'Mumbai', schedule_layers: [layer('L4', 'Of no one', 86_400, ['U4'])] },
  ],
  shiftSchedules: [
    {
      id: 'S3',
      type: 'schedule_v3',
      name: 'Follow the sun',
      time_zone: 'Europe/Berlin',
      rotations: [
        {
          id: 'R1',
          events: [
            {
              id: 'E1',
              name: 'Office',
              start_time: zoned('2026-08-03T09:00:00+02:00'),
              end_time: zoned('2026-08-03T17:00:00+02:00'),
              effective_since: '2026-08-03T07:00:00Z',
              effective_until: null,
              recurrence: ['RRULE:FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR'],
              assignment_strategy: {
                type: 'rotating_member_assignment_strategy',
                shifts_per_member: 5,
                members: ['U1', 'U2'].map(user_id => ({ type: 'user_member', user_id })),
              },
            },
          ],
        },
      ],
    },
  ],
  overrides: {
    S1: [{ id: 'O1', start: inDays(3, '10:00:00'), end: inDays(3, '12:00:00'), user: user('U2') }],
    S3: [],
  },
  customShifts: {
    S3: [
      {
        id: 'X1',
        start_time: inDays(5, '18:00:00'),
        end_time: inDays(6, '06:00:00'),
        assignments: [{ id: 'A1', type: 'shift_assignment', member: { type: 'user_member', user_id: 'U3' } }],
      },
    ],
  },
};

let target: ImportTarget;
let pagerduty: Awaited<ReturnType<typeof openPagerDuty>>;
/** The first import, of which everything is saved. */
let planned: Finished;
const file = (name: string) => target.file(name);
const run = (...args: string[]) => target.run(...args);
const fromServer = (...args: string[]) => run('--url', pagerduty.url, ...args);

beforeAll(async () => {
  target = await openImportTarget(token, 'pagerduty');
  pagerduty = await openPagerDuty(account, token);
  planned = await fromServer('--to', file('pagerduty.yaml'), '--save', file('pagerduty.json'));
});
afterAll(async () => {
  await pagerduty.close();
  await target.close();
});

describe('belfry import pagerduty', () => {
  test('plans, applies, and then finds nothing to change', async () => {
    const [to, saved] = [file('pagerduty.yaml'), file('pagerduty.json')];
    expect(planned.stderr).toBe('');
    expect(planned.stdout).toMatch(/^schedule primary: 0 differences from its [1-9]\d* shifts in 90 days\n/);
    expect(planned.stdout).toMatch(/\nschedule follow-the-sun: 0 differences from its [1-9]\d* shifts in 90 days\n/);
    expect(planned.stdout).toMatch(/\nPlan: [1-9]\d* to create, 0 to change, 0 to delete\.\n$/);
    const limited = pagerduty.requests.findIndex(({ status }) => status === 429);
    expect(pagerduty.requests[limited + 1]!.path).toBe(pagerduty.requests[limited]!.path);
    // Neither what the account does not have nor a page is missing without a trace.
    expect(pagerduty.requests.flatMap(({ status }) => (status === 200 ? [] : [status]))).toEqual([429, 402]);
    expect(pagerduty.requests.map(one => one.path)).toContain(
      '/users?include%5B%5D=contact_methods&include%5B%5D=notification_rules&limit=100&offset=2',
    );

    const applied = await run(saved, '--to', to, '--apply');
    expect(applied.stdout).toMatch(/\nApplied: [1-9]\d* created, 0 changed, 0 deleted\.\n$/);
    expect((await run(saved, '--to', to)).stdout).toMatch(/\nNo changes\.\n$/);

    const [yaml, json] = [await readFile(to, 'utf8'), await readFile(saved, 'utf8')];
    for (const text of [planned.stdout, yaml, json]) expect(text).not.toContain(token);
    expect(planned.stdout).not.toContain(key('a'));
    expect(json).not.toContain('very-secret');
    for (const name of [to, saved]) expect((await stat(name)).mode & 0o777).toBe(0o600);
  });

  test('carries over addresses, rules, teams, layers, policies and keys', async () => {
    const text = (await readFile(file('pagerduty.yaml'), 'utf8')).replaceAll(/\s+/g, ' ');
    expect(text).toContain('email: ann@acme.test first_name: Ann last_name: Ash timezone: America/New_York');
    expect(text).toContain(
      'reach: normal: - by: email important: - by: sms - by: push - by: voice after: 5m ' +
        'addresses: - name: sms value: "+15555550100" - name: voice value: "+15555550100" - name: sms-2 value: "+15555550109"',
    );
    expect(text).toContain('name: Database members: - ann@acme.test - bob@acme.test');
    expect(text).toMatch(/name: Week every: 1w .* name: Nights every: 1d .* only: - from: 18:00 until: 09:00/);
    expect(text).toMatch(/combine: all layers: - name: Office every: 1w .* name: Custom shift/);
    // Both schedules at once, a round robin of users, and all of it again after an hour.
    expect(text).toMatch(
      /slug: production-low-urgency .* recipients: schedule: primary steps: - channels: - personal - unless: acknowledged channels: - personal recipients: schedule: follow-the-sun - after: 10m unless: acknowledged channels: - personal recipients: list: bob@acme.test, cem@acme.test round_robin: true - after: 60m .* acknowledgement_expires: 30m/,
    );
    expect(text.match(/priority: urgent/g)).toHaveLength(1);
    expect(text).toContain(
      `slug: shop-prometheus name: Shop Prometheus use: pagerduty routes: - when: severity == 'warning' || severity == 'info' event: production-low-urgency - event: production token: ${key('a')}`,
    );
    expect(text).toMatch(/slug: shop-mails name: Shop Mails use: email routes: [^"]* slug: shop-datadog/);
    expect(text).not.toContain(key('c'));
  });

  test('lists what is not carried over, also in the file', async () => {
    const text = await readFile(file('pagerduty.yaml'), 'utf8');
    const expected = [
      'user Ann Ash, rule for high urgency after 7 minutes: its contact method is not carried over',
      'user Ann Ash: a rule is for the urgency severe',
      'user Cem: the time zone Nowhere is not known',
      'user Cem, Work: it is of the type pigeon_contact_method',
      'user Dee: has no email that can be used',
      'push devices: 1 of them are registered',
      'schedule Primary: 1 of its layers have ended',
      `schedule Primary, override: enter it: belfry cover acme/on-call/primary bob@acme.test --from ${inDays(3, '10:00:00')}`,
      'schedule Empty, layer Of no one: it is left out: one of its turns has no user',
      'schedule Empty: it has no layers that can be carried over',
      'escalation policy Production, rule 3: its target is of the type robot_reference',
      'service Shop, integration Mails: it is an address for mails',
      'service Shop, integration Datadog: its type, of Datadog, is event_transformer_api_inbound_integration',
      'service Old: it is disabled',
      'automatic resolution: 1 services',
      `maintenance window New disks, Ann's: enter it: belfry silence acme/on-call source=shop-prometheus --from ${inDays(2, '20:00:00')} --until ${inDays(2, '22:00:00')} --reason 'New disks, Ann'\\''s'`,
      'ruleset Default Global: its rules and keys are not carried over',
      'event orchestrations: it was not read',
    ];
    for (const line of expected) {
      expect(planned.stdout).toContain(`  ${line}`);
      expect(text).toContain(`#   ${line}`);
    }
  });

  test('says that the token is refused, or that the address is another one', async () => {
    const refused = await fromServer('--token', 'another');
    expect(refused.code).toBe(1);
    expect(refused.stderr).toMatch(/^belfry: .* does not accept the token: create a read-only one in PagerDuty/);
    const elsewhere = await run('--url', `${pagerduty.url}/elsewhere`);
    expect(elsewhere.stderr).toBe(`belfry: there is no ${pagerduty.url}/elsewhere/users: check --url\n`);
  });

  // biome-ignore lint/suspicious/noExplicitAny: the content of the file is changed as JSON
  test.each<[string, (data: any) => void, string]>([
    ['a version', data => (data.version = 2), 'version'],
    ['a list that is missing', data => delete data.schedules, 'schedules'],
    [
      'a time',
      data => (data.schedules[0].schedule_layers[0].start = 'tomorrow'),
      'schedules/0/schedule_layers/0/start',
    ],
    [
      'a far time',
      data => (data.schedules[0].schedule_layers[0].start = '0001-01-01T00:00:00Z'),
      'schedules/0/schedule_layers/0/start',
    ],
    ['a user', data => (data.users[0] = null), 'users/0'],
    ['a rule', data => (data.users[0].notification_rules[0].start_delay_in_minutes = '5'), 'start_delay_in_minutes'],
    [
      'a strategy',
      data => delete data.shift_schedules[0].rotations[0].events[0].assignment_strategy,
      'assignment_strategy',
    ],
    ['an unknown field', data => (data.services[0].secret = 'x'), 'services/0/secret'],
  ])('names %s that is wrong in a saved file', async (_, change, field) => {
    const data = JSON.parse(await readFile(file('pagerduty.json'), 'utf8'));
    change(data);
    await writeFile(file('wrong.json'), JSON.stringify(data));
    const { code, stderr } = await run(file('wrong.json'), '--to', file('wrong.yaml'));
    expect(code).toBe(1);
    expect(stderr).toContain(field);
    expect(stderr).not.toContain('    at ');
  });

  test('makes notes of kinds that are not known yet', async () => {
    const data = JSON.parse(
      (await readFile(file('pagerduty.json'), 'utf8')).replaceAll(
        /"type": "(\w+)(_restriction|_strategy|_method|_integration|_member)"/g,
        '"type": "new_$1$2"',
      ),
    );
    data.services[0].urgency = { type: 'lunar', urgency: 'blue' };
    data.services[0].status = 'asleep';
    data.escalation_policies[0].escalation_rules[0].strategy = 'dice';
    await writeFile(file('unknown.json'), JSON.stringify(data));
    const { code, stdout } = await run(file('unknown.json'), '--to', file('unknown.yaml'));
    expect(code).toBe(0);
    for (const kind of [
      'new_sms_contact_method',
      'new_daily_restriction',
      'lunar',
      'dice',
      'new_events_api_v2',
      'new_rotating_member',
    ])
      expect(stdout).toContain(kind);
  });
});
