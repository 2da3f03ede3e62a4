/** `belfry import opsgenie` against a server that answers as Opsgenie does. */
import { readFile, writeFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { command } from '../support/command.ts';
import { type ImportTarget, openImportTarget } from '../support/imports.ts';
import { openOpsgenie } from '../support/opsgenie.ts';
import { makeAccount } from '../support/opsgenie-account.ts';
import type { Finished } from '../support/process.ts';

const key = 'opsgenie-key-of-the-test';
const at = (days: number, time: string) =>
  `${new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10)}T${time}`;

let target: ImportTarget;
let server: Awaited<ReturnType<typeof openOpsgenie>>;
/** The first import, of which everything is saved. */
let planned: Finished;
const file = (name: string) => target.file(name);
const run = (...args: string[]) => target.run(...args);

beforeAll(async () => {
  target = await openImportTarget(key, 'opsgenie');
  server = await openOpsgenie(makeAccount(at), key);
  planned = await run('--url', server.url, '--to', file('opsgenie.yaml'), '--save', file('opsgenie.json'));
});
afterAll(async () => {
  await server.close();
  await target.close();
});

describe('belfry import opsgenie', () => {
  test('plans, applies, and then finds nothing to change', async () => {
    const [to, saved] = [file('opsgenie.yaml'), file('opsgenie.json')];
    expect(planned.stderr).toBe('');
    expect(planned.stdout).toMatch(/^schedule database: 0 differences from its [1-9]\d* shifts in 90 days\n/);
    expect(planned.stdout).toMatch(/\nPlan: [1-9]\d* to create, 0 to change, 0 to delete\.\n$/);
    expect(await readFile(saved, 'utf8')).not.toContain(key);
    // All pages, and what was refused for a moment.
    expect(server.requests.filter(({ status }) => status === 429)).toHaveLength(1);
    expect(server.requests.map(one => one.path)).toContain('/v2/users?limit=100&offset=3');

    const applied = await run(saved, '--to', to, '--apply');
    expect(applied.stdout).toMatch(/\nApplied: [1-9]\d* created, 0 changed, 0 deleted\.\n$/);
    expect((await run(saved, '--to', to)).stdout).toMatch(/\nNo changes\.\n$/);
  });

  test('carries over people, rotations, escalations and routing rules', async () => {
    const text = await readFile(file('opsgenie.yaml'), 'utf8');
    expect(text).toMatch(
      /email: ann@acme.test\n +first_name: Ann\n +last_name: Lee\n +locale: en-US\n +timezone: Europe\/Berlin\n/,
    );
    expect(text).toMatch(
      /important:\n +- by: push\n +- by: sms\n +after: 1m\n +- by: voice\n +after: 3m\n +normal:\n +- by: email\n/,
    );
    expect(text).toMatch(/- name: voice\n +value: ["']?\+4915112345678/);
    expect(text).toMatch(/email: dee@acme.test\n +first_name: Dee\n +locked: true\n/);
    expect(text).toMatch(
      /name: Nights\n +every: 1d\n +from: 2026-08-03T20:00\n +users:\n +- cem@acme.test\n +- \[\]\n/,
    );
    expect(text).toMatch(/combine: all\n/);
    // Delays since the alert become delays between steps; the second round begins 5 minutes after the first.
    const [, page = ''] = /name: Page\n +notifications:(.*?)\n +- name: notice/s.exec(text) ?? [];
    expect([...page.matchAll(/after: (\w+)/g)].map(([, after]) => after)).toEqual(['10m', '15m', '5m', '10m', '15m']);
    expect(page).toMatch(/schedule: database\n +offset: 1\n/);
    expect(text).toMatch(/round_robin: true/);
    expect(text).toMatch(
      /routes:\n +- when: contains\(\['P4', 'P5'\], priority\)\n +event: not-notified\n +- event: page\n/,
    );
    expect(text).toMatch(
      /when: "?\(responders\[\?type == 'team' && \(name == 'Web' \|\| id == 'T2'\)\] \| \[0\]\.type\) == 'team'"?\n +event: on-call-database\n/,
    );
  });

  test('lists what is not carried over', async () => {
    const text = await readFile(file('opsgenie.yaml'), 'utf8');
    for (const line of [
      'user Ann@acme.test, sms 1-123: it is disabled there',
      'user Ann@acme.test: has the Opsgenie app',
      'user Ann@acme.test, notification rules: those for closed-alert are not carried over',
      'user dee@acme.test: is blocked there, and locked here',
      'schedule Database, rotation Old: it has ended',
      `schedule Database, override holiday: enter it: belfry cover acme/on-call/database bob@acme.test --from ${at(3, '10:00:00Z')}`,
      'schedule Database, forwarding: enter it: belfry cover acme/on-call/database cem@acme.test --instead-of ann@acme.test',
      'schedule Unused: it is disabled: steps that name it are left out',
      'escalation Page, rule 1: it also notifies after an acknowledgement',
      'escalation Page: its repetitions forget acknowledgements',
      'escalation Anyone, rule 1: it notifies a random member',
      'team Database, routing rule Pattern: its conditions cannot be translated',
      'integration Prometheus: its key cannot be read from the API: write it as `token` of the source prometheus',
      'integration Chat: it is of the type Slack',
      'alert policy Suppress tests: policies are not carried over',
      `maintenance Move of the data center: enter it: belfry silence acme source=prometheus --from ${at(5, '20:00:00Z')}`,
      'policies: they were not read',
    ]) {
      expect(planned.stdout).toContain(`  ${line}`);
      expect(text).toContain(`#   ${line}`);
    }
  });

  test('has commands in its notes that can be run as they are', async () => {
    expect(await run(file('opsgenie.json'), '--to', file('commands.yaml'), '--apply')).toMatchObject({ code: 0 });
    const commands = [...planned.stdout.matchAll(/enter it: belfry (.*)/g)].map(([, text]) => text!);
    expect(commands.length).toBeGreaterThan(2);
    for (const text of commands) {
      const args = [...text.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain!);
      expect(await command(args, target.env), text).toMatchObject({ code: 0 });
    }
  });

  test('says where to get a key when it is refused', async () => {
    const { code, stderr } = await run('--url', server.url, '--token', 'another');
    expect(code).toBe(1);
    expect(stderr).toMatch(/does not accept the token: create an API key in Opsgenie under Settings/);
  });

  test('names the fields of a file that are wrong', async () => {
    const good = JSON.parse(await readFile(file('opsgenie.json'), 'utf8'));
    const wrong: [object, string][] = [
      [{ ...good, version: 2 }, 'version'],
      [{ ...good, fetched_at: 'yesterday' }, 'fetched_at'],
      [{ ...good, users: 'all' }, 'users'],
      [{ ...good, teams: [{ id: 'T1', name: 'x', members: [{ user: null }] }] }, 'teams/0/members/0/user'],
      [
        {
          ...good,
          schedules: [{ id: 'S', name: 'S', rotations: [{ type: 'daily', startDate: 1, participants: [] }] }],
        },
        'startDate',
      ],
      [{ ...good, escalations: [{ id: 'E', name: 'E', rules: [{ delay: { timeAmount: -1 } }] }] }, 'timeAmount'],
    ];
    for (const [content, field] of wrong) {
      await writeFile(file('wrong.json'), JSON.stringify(content));
      const { code, stderr } = await run(file('wrong.json'), '--to', file('wrong.yaml'));
      expect(code).toBe(1);
      expect(stderr).toContain(field);
    }
  });

  test('turns kinds that it does not know into notes', async () => {
    const good = JSON.parse(await readFile(file('opsgenie.json'), 'utf8'));
    const odd = structuredClone(good);
    odd.users[0].contacts.push({ method: 'pigeon', to: 'loft' });
    odd.users[0].notificationRules[1].steps.push({ contact: { method: 'pigeon', to: 'loft' } });
    odd.escalations[0].rules[0].notifyType = 'oldest';
    odd.escalations[0].rules[1].condition = 'if-raining';
    odd.escalations[1].rules[0].recipient = { type: 'robot', name: 'R2' };
    odd.integrations[1].type = 'Smoke';
    odd.teams[1].routingRules[0].notify = { type: 'robot', name: 'R2' };
    odd.schedules[0].rotations[0].participants.push({ type: 'robot', name: 'R2' });
    await writeFile(file('odd.json'), JSON.stringify(odd));
    const { code, stdout } = await run(file('odd.json'), '--to', file('odd.yaml'));
    expect(code).toBe(0);
    for (const part of ['pigeon', 'oldest', 'if-raining', 'type robot', 'type Smoke', 'notifies robot R2'])
      expect(stdout).toContain(part);
  });
});
