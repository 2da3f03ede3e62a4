/** `belfry import` against a server that answers as Grafana OnCall does. */
import { readFile, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { certificate, certificateKey } from '../support/certificate.ts';
import { openGrafanaOnCall, type Resources } from '../support/grafana-oncall.ts';
import { type ImportTarget, openImportTarget } from '../support/imports.ts';
import type { Finished } from '../support/process.ts';

const token = 'oncall-token-of-the-test';
const link = (type: string, own: string) => `https://oncall.acme.test/integrations/v1/${type}/${own}/`;
const inDays = (days: number, time: string) =>
  `${new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10)}T${time}`;

const rolling = {
  type: 'rolling_users',
  time_zone: null,
  interval: 1,
  start_rotation_from_user_index: 0,
  by_day: null,
};
const templates = { grouping_key: null, resolve_signal: null };
const resources: Resources = {
  users: [
    { id: 'U1', email: 'Ann@acme.test', username: 'ann', timezone: 'Europe/Berlin', teams: ['T1'], slack: [] },
    {
      id: 'U2',
      email: 'bob@acme.test',
      username: 'bob',
      timezone: 'nowhere',
      teams: ['T1'],
      slack: { user_id: 'U0B', team_id: 'T0' },
    },
    { id: 'U3', email: 'cem@acme.test', username: 'cem', timezone: null, teams: [], slack: null },
    { id: 'U4', email: '', username: 'dee', timezone: null, teams: [], slack: null },
  ],
  teams: [{ id: 'T1', grafana_id: 1, name: 'Database', email: '', avatar_url: '' }],
  user_groups: [{ id: 'G1', type: 'slack_based', slack: { id: 'S1', name: 'Duty', handle: 'duty' } }],
  schedules: [
    {
      id: 'S1',
      name: 'Primary',
      type: 'web',
      time_zone: 'Asia/Kolkata',
      team_id: null,
      shifts: ['O1', 'O2', 'O3', 'O4', 'O5'],
      slack: {},
    },
    {
      id: 'S2',
      name: 'Primary',
      type: 'calendar',
      time_zone: 'Asia/Kolkata',
      shifts: ['O6', 'O7'],
      ical_url_overrides: null,
    },
    { id: 'S4', name: 'Backup', type: 'web', time_zone: 'UTC', shifts: ['O8'] },
    {
      id: 'S3',
      name: 'From a calendar',
      type: 'ical',
      ical_url_primary: 'https://calendar.acme.test/very-secret.ics',
      team_id: null,
    },
  ],
  on_call_shifts: [
    {
      id: 'O1',
      ...rolling,
      name: 'Week',
      level: 1,
      start: '2026-08-03T09:00:00',
      rotation_start: '2026-08-03T09:00:00',
      duration: 604_800,
      frequency: 'weekly',
      week_start: 'MO',
      rolling_users: [['U1'], ['U2'], ['U3']],
    },
    {
      id: 'O2',
      ...rolling,
      name: 'Nights',
      level: 2,
      start: '2026-08-03T18:00:00',
      rotation_start: '2026-08-03T18:00:00',
      duration: 54_000,
      frequency: 'weekly',
      week_start: 'MO',
      by_day: ['MO', 'TU', 'WE', 'TH', 'FR'],
      rolling_users: [['U3'], ['U1', 'U2']],
    },
    {
      id: 'O3',
      ...rolling,
      name: 'Old',
      level: 3,
      start: '2025-08-03T18:00:00',
      rotation_start: '2025-08-03T18:00:00',
      until: '2026-01-01T00:00:00',
      duration: 86_400,
      frequency: 'daily',
      rolling_users: [['U3']],
    },
    {
      id: 'O4',
      type: 'override',
      name: 'Override',
      time_zone: null,
      start: inDays(3, '10:00:00'),
      rotation_start: inDays(3, '10:00:00'),
      duration: 7_200,
      users: ['U2'],
    },
    {
      id: 'O5',
      ...rolling,
      name: 'Lunch',
      level: 3,
      start: '2026-08-03T11:00:00',
      rotation_start: '2026-08-03T11:00:00',
      duration: 3_600,
      frequency: 'daily',
      by_day: ['TU', 'TH'],
      rolling_users: [['U1'], ['U2']],
    },
    {
      id: 'O6',
      ...rolling,
      name: 'Days',
      level: 0,
      start: '2026-08-01T08:00:00',
      rotation_start: '2026-08-01T08:00:00',
      duration: 43_200,
      frequency: 'daily',
      rolling_users: [['U1'], ['U2']],
    },
    {
      id: 'O8',
      ...rolling,
      name: 'Days',
      level: 1,
      start: '2026-08-01T08:00:00',
      rotation_start: '2026-08-01T08:00:00',
      duration: 86_400,
      frequency: 'daily',
      rolling_users: [['U1'], ['U4']],
    },
    {
      id: 'O7',
      type: 'recurrent_event',
      name: 'Weekends',
      time_zone: null,
      level: 0,
      start: '2026-08-01T10:00:00',
      rotation_start: '2026-08-01T10:00:00',
      duration: 14_400,
      frequency: 'weekly',
      interval: 1,
      week_start: 'SU',
      by_day: ['SA', 'SU'],
      users: ['U3'],
    },
  ],
  shift_swaps: [],
  escalation_chains: [
    { id: 'C1', name: 'Page', team_id: null },
    { id: 'C2', name: 'Daytime', team_id: null },
  ],
  escalation_policies: [
    {
      id: 'E3',
      escalation_chain_id: 'C1',
      position: 2,
      type: 'notify_persons',
      important: true,
      persons_to_notify: ['U3'],
    },
    {
      id: 'E1',
      escalation_chain_id: 'C1',
      position: 0,
      type: 'notify_on_call_from_schedule',
      important: true,
      notify_on_call_from_schedule: 'S1',
    },
    { id: 'E2', escalation_chain_id: 'C1', position: 1, type: 'wait', duration: 900 },
    { id: 'E4', escalation_chain_id: 'C1', position: 3, type: 'trigger_webhook', action_to_trigger: 'W1' },
    {
      id: 'E5',
      escalation_chain_id: 'C2',
      position: 0,
      type: 'notify_team_members',
      important: false,
      team_to_notify: 'T1',
    },
    { id: 'E6', escalation_chain_id: 'C2', position: 1, type: 'wait', duration: 300 },
    {
      id: 'E7',
      escalation_chain_id: 'C2',
      position: 2,
      type: 'notify_person_next_each_time',
      important: false,
      persons_to_notify_next_each_time: ['U1', 'U3'],
    },
    {
      id: 'E8',
      escalation_chain_id: 'C2',
      position: 3,
      type: 'notify_on_call_from_schedule',
      important: false,
      notify_on_call_from_schedule: 'S3',
    },
  ],
  integrations: [
    {
      id: 'I1',
      name: 'Alertmanager :fire:',
      team_id: null,
      type: 'alertmanager',
      link: link('alertmanager', 'mReAoNwDm0eMwKo1mTeTwYo'),
      inbound_email: null,
      default_route: { id: 'R2', escalation_chain_id: 'C2' },
      templates,
    },
    {
      id: 'I2',
      name: 'Batch jobs',
      team_id: null,
      type: 'webhook',
      link: link('webhook', 'aBcDeFgHiJkLmNoPqRsTuVw'),
      inbound_email: null,
      default_route: { id: 'R4', escalation_chain_id: null },
      templates: { ...templates, grouping_key: '{{ payload.job }}' },
    },
    {
      id: 'I3',
      name: 'Direct paging',
      team_id: null,
      type: 'direct_paging',
      link: null,
      inbound_email: null,
      default_route: { id: 'R5', escalation_chain_id: null },
      templates,
    },
  ],
  routes: [
    {
      id: 'R1',
      integration_id: 'I1',
      escalation_chain_id: 'C1',
      routing_type: 'regex',
      routing_regex: '"severity": "critical"',
      position: 0,
      is_the_last_route: false,
    },
    {
      id: 'R2',
      integration_id: 'I1',
      escalation_chain_id: 'C2',
      routing_type: 'regex',
      routing_regex: '.*',
      position: 1,
      is_the_last_route: true,
    },
    {
      id: 'R3',
      integration_id: 'I2',
      escalation_chain_id: 'C1',
      routing_type: 'regex',
      routing_regex: 'us-(east|west)',
      position: 0,
      is_the_last_route: false,
    },
    {
      id: 'R4',
      integration_id: 'I2',
      escalation_chain_id: null,
      routing_type: 'regex',
      routing_regex: '.*',
      position: 1,
      is_the_last_route: true,
    },
  ],
  personal_notification_rules: [{ id: 'N1', user_id: 'U1', position: 0, important: false, type: 'notify_by_sms' }],
};

let target: ImportTarget;
let oncall: Awaited<ReturnType<typeof openGrafanaOnCall>>;
/** The first import, of which everything is saved. */
let planned: Finished;
const file = (name: string) => target.file(name);
const run = (...args: string[]) => target.run(...args);
const fromServer = (...args: string[]) => run('--url', oncall.url, ...args);

beforeAll(async () => {
  target = await openImportTarget(token, 'grafana-oncall', '--channels', 'pager');
  oncall = await openGrafanaOnCall(resources, token);
  planned = await fromServer('--to', file('oncall.yaml'), '--save', file('oncall.json'));
});
afterAll(async () => {
  await oncall.close();
  await target.close();
});

describe('belfry import grafana-oncall', () => {
  test('plans, applies, and then finds nothing to change', async () => {
    const [to, saved] = [file('oncall.yaml'), file('oncall.json')];
    expect(planned.stderr).toBe('');
    expect(planned.stdout).toMatch(/^schedule primary: 0 differences from its [1-9]\d* shifts in 90 days\n/);
    expect(planned.stdout).toMatch(/\nschedule primary-2: 0 differences from its [1-9]\d* shifts in 90 days\n/);
    expect(planned.stdout).toContain('+ schedule acme/on-call/primary');
    // All pages, and what was refused because of the rate as late as the server asks for.
    const limited = oncall.requests.findIndex(({ status }) => status === 429);
    expect(oncall.requests[limited + 1]!.path).toBe(oncall.requests[limited]!.path);
    expect(oncall.requests[limited + 1]!.at - oncall.requests[limited]!.at).toBeGreaterThanOrEqual(990);
    expect(oncall.requests.map(one => one.path)).toContain('/api/v1/on_call_shifts/?page=3');
    expect(oncall.requests.filter(({ status }) => status !== 200)).toHaveLength(1);
    expect(planned.stdout).toMatch(/\nPlan: [1-9]\d* to create, 0 to change, 0 to delete\.\n$/);

    const applied = await run(saved, '--to', to, '--apply');
    expect(applied.stdout).toMatch(/\nApplied: [1-9]\d* created, 0 changed, 0 deleted\.\n$/);
    expect((await run(saved, '--to', to)).stdout).toMatch(/\nNo changes\.\n$/);
  });

  test('carries over users, teams, levels, chains, tokens and routes', async () => {
    const text = await readFile(file('oncall.yaml'), 'utf8');
    expect(text).toContain('name: Acme Inc');
    expect(text).toMatch(/email: ann@acme.test\n +timezone: Europe\/Berlin\n/);
    expect(text).toMatch(/name: slack\n +value: U0B\n/);
    expect(text).toMatch(/name: Database\n +members:\n +- ann@acme.test\n +- bob@acme.test\n/);
    expect(text).toMatch(
      /- after: 15m\n +unless: acknowledged\n +channels:\n +- pager\n +recipients:\n +list: cem@acme.test\n/,
    );
    expect(text).toMatch(/round_robin: true/);
    expect(text).toMatch(
      /when: labels.severity == 'critical'\n +event: page\n +- event: daytime\n +token: mReAoNwDm0eMwKo1mTeTwYo\n/,
    );
    expect(text).toContain('token: aBcDeFgHiJkLmNoPqRsTuVw');
    // Week, Nights and Lunch, of which later ones cover earlier ones; the old one is over.
    expect([...text.matchAll(/name: (Week|Nights|Lunch \w+|Old)\n/g)].map(([, name]) => name)).toEqual([
      'Week',
      'Nights',
      'Lunch tue',
      'Lunch thu',
    ]);
  });

  test('lists what is not carried over, also in the file', async () => {
    const text = await readFile(file('oncall.yaml'), 'utf8');
    const expected = [
      'user dee: has no email that can be used',
      'schedule From a calendar: its shifts come from a calendar',
      `schedule Primary, override: enter it: belfry cover acme/on-call/primary bob@acme.test --from ${inDays(3, '10:00:00')}Z`,
      'schedule Backup, shift Days: one of its turns has no user who can be carried over: a turn of no one',
      'escalation chain Page, step 4: webhooks of chains are not carried over',
      'escalation chain Daytime, step 4: its schedule is not carried over',
      'integration Batch jobs, route 1: write its pattern as a condition',
      'integration Direct paging: it is of the type direct_paging',
      'personal notification rules: those of 1 users',
      'user group duty: the members of Slack user groups are not known',
    ];
    for (const line of expected) {
      expect(planned.stdout).toContain(`  ${line}`);
      expect(text).toContain(`#   ${line}`);
    }
  });

  test('keeps tokens out of what it prints, and its own out of the files', async () => {
    const [to, saved] = [file('oncall.yaml'), file('oncall.json')];
    const { stdout, stderr } = planned;
    const [yaml, json] = [await readFile(to, 'utf8'), await readFile(saved, 'utf8')];
    for (const text of [stdout, stderr, yaml, json]) expect(text).not.toContain(token);
    for (const text of [stdout, stderr]) expect(text).not.toContain('mReAoNwDm0eMwKo1mTeTwYo');
    // The address of a calendar is a secret that is not needed.
    expect(json).not.toContain('very-secret');
    for (const name of [to, saved]) expect((await stat(name)).mode & 0o777).toBe(0o600);
  });

  test('does not overwrite a file that it has not written', async () => {
    const { code, stderr } = await fromServer('--to', file('before.yaml'));
    expect([code, stderr]).toEqual([
      1,
      `belfry: ${file('before.yaml')} was not written by an import: name another file with --to\n`,
    ]);
    expect(await readFile(file('before.yaml'), 'utf8')).toContain('sandbox');
  });

  test('says that the token is refused', async () => {
    const { code, stderr } = await fromServer('--token', 'another');
    expect(code).toBe(1);
    expect(stderr).toMatch(/^belfry: the token must not read .*: create one in Grafana OnCall under Settings/);
  });

  test('says that the address is wrong', async () => {
    const { stderr } = await run('--url', `${oncall.url}/elsewhere`);
    expect(stderr).toBe(`belfry: there is no ${oncall.url}/elsewhere/api/v1/users/: check --url\n`);
    expect((await run('--url', 'oncall.acme.test')).stderr).toContain('--url must be an address such as');
  });

  test('does not send the token where a redirect leads', async () => {
    const server = createServer((_, response) => response.writeHead(302, { location: oncall.url }).end());
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
    oncall.requests.length = 0;
    const { stderr } = await run('--url', `http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    server.close();
    expect(stderr).toContain('redirects: use the address that it redirects to as --url');
    expect(oncall.requests).toEqual([]);
  });

  test('says how to trust a certificate', async () => {
    const server = createTlsServer({ cert: certificate, key: certificateKey });
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
    const { stderr } = await run('--url', `https://127.0.0.1:${(server.address() as AddressInfo).port}`);
    server.close();
    expect(stderr).toMatch(/is not trusted \(\w+\): set NODE_EXTRA_CA_CERTS/);
  });

  test('names the fields of a file that are wrong', async () => {
    await writeFile(file('wrong.json'), JSON.stringify({ source: 'grafana-oncall', version: 2 }));
    const { code, stderr } = await run(file('wrong.json'));
    expect(code).toBe(1);
    expect(stderr).toContain('version');
    expect(stderr).toContain('users');
  });
});
