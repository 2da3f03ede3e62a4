/** Presets read the payloads of monitoring systems, in the form in which these send them. */
import { describe, expect, test } from 'vitest';
import type { Alert, ReadAlert, SourceRequest } from '../../src/core/sources/alert.ts';
import { compileSource, type SourceRules } from '../../src/core/sources/mapping.ts';
import { type SourcePresetName, sourcePresetNames, sourcePresets } from '../../src/core/sources/presets/index.ts';

function request(body: unknown, more: Partial<SourceRequest> = {}): SourceRequest {
  const bytes = Buffer.isBuffer(body) ? body : Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
  return { method: 'POST', url: '/in/x/', contentType: 'application/json', headers: {}, bytes, ...more };
}

const read = (preset: SourcePresetName, body: unknown, more?: Partial<SourceRequest>) =>
  sourcePresets[preset].read(request(body, more));
const only = (preset: SourcePresetName, body: unknown, more?: Partial<SourceRequest>) =>
  read(preset, body, more).alerts[0]!.alert;
const brief = (alerts: ReadAlert[]) =>
  alerts.map(({ alert }) =>
    'state' in alert ? [alert.key, alert.state, alert.severity] : [alert.error ?? alert.note],
  );

const firing = {
  status: 'firing',
  labels: { alertname: 'DiskFull', instance: 'db1', severity: 'critical' },
  annotations: { summary: 'Disk of db1 is full' },
  startsAt: '2026-11-18T10:00:00.123Z',
  endsAt: '0001-01-01T00:00:00Z',
  generatorURL: 'http://prom/graph',
  fingerprint: 'a1b2c3d4e5f60718',
};
const group = {
  version: '4',
  groupKey: '{}:{alertname="DiskFull"}',
  truncatedAlerts: 0,
  status: 'firing',
  receiver: 'belfry',
  groupLabels: { alertname: 'DiskFull' },
  commonLabels: {},
  commonAnnotations: {},
  externalURL: 'http://am',
};

describe('alertmanager', () => {
  test('decides each alert of a group by its own status', () => {
    const resolved = { ...firing, status: 'resolved', endsAt: '2026-11-18T11:00:00Z', fingerprint: 'ffff' };
    const { alerts } = read('alertmanager', { ...group, alerts: [firing, resolved] });
    expect(brief(alerts)).toEqual([
      ['a1b2c3d4e5f60718', 'open', 'critical'],
      ['ffff', 'resolved', 'critical'],
    ]);
    const [first] = alerts.map(({ alert }) => alert as Alert);
    expect(first).toMatchObject({
      title: 'Disk of db1 is full',
      time: '2026-11-18T10:00:00.123Z',
      context: { labels: firing.labels, ends_at: null, group_key: group.groupKey, generator_url: 'http://prom/graph' },
    });
  });

  test('takes nine alerts and names the tenth', () => {
    const nine = Array.from({ length: 9 }, (_, i) => ({ ...firing, fingerprint: `f${i}` }));
    const { alerts } = read('alertmanager', { ...group, alerts: [...nine, { ...firing, status: 'pending' }] });
    expect(alerts.filter(({ alert }) => 'state' in alert)).toHaveLength(9);
    expect(alerts[9]).toEqual({ at: 'alerts/9', alert: { error: 'has a status other than firing and resolved' } });
  });

  test('notes alerts that the sender left out, and resolves nothing for them', () => {
    const { alerts, note } = read('alertmanager', { ...group, truncatedAlerts: 3, alerts: [firing] });
    expect(note).toMatch(/left out 3 alerts/);
    expect(alerts).toHaveLength(1);
  });

  test('gives an alert without a fingerprint a key of its labels, in any order', () => {
    const { fingerprint: _, ...alert } = firing;
    const turned = { ...alert, labels: Object.fromEntries(Object.entries(alert.labels).reverse()) };
    const { alerts } = read('alertmanager', { ...group, alerts: [alert, turned] });
    expect((alerts[0]!.alert as Alert).key).toBe((alerts[1]!.alert as Alert).key);
  });
});

describe('grafana', () => {
  test('keeps the links and values of an alert', () => {
    const more = {
      dashboardURL: 'http://g/d/1',
      panelURL: 'http://g/d/1?p=2',
      silenceURL: 'http://g/s',
      values: { B: 22.2 },
    };
    const payload = { ...group, version: '1', orgId: 1, state: 'alerting', alerts: [{ ...firing, ...more }] };
    expect(only('grafana', payload)).toMatchObject({
      key: firing.fingerprint,
      context: { dashboard_url: 'http://g/d/1', panel_url: 'http://g/d/1?p=2', values: { B: 22.2 } },
    });
  });

  test('reads the single alert of legacy alerting', () => {
    const payload = {
      title: '[Alerting] Load',
      state: 'alerting',
      message: 'too high',
      ruleId: 7,
      ruleUrl: 'http://g/7',
    };
    expect(only('grafana', payload)).toMatchObject({ key: '7', state: 'open', context: { link: 'http://g/7' } });
    expect(only('grafana', { ...payload, title: '[OK] Load', state: 'ok' })).toMatchObject({
      key: '7',
      state: 'resolved',
    });
  });
});

describe('pagerduty', () => {
  const event = {
    routing_key: 'x',
    event_action: 'trigger',
    dedup_key: 'disk',
    payload: { summary: 'Full', source: 'db1', severity: 'warning', custom_details: { free: '1%' } },
    links: [{ href: 'https://run.book/', text: 'Runbook' }],
  };

  test('reads trigger, acknowledge and resolve', () => {
    expect(only('pagerduty', event)).toMatchObject({
      key: 'disk',
      state: 'open',
      title: 'Full',
      severity: 'warning',
      context: { host: 'db1', details: { free: '1%' }, links: event.links },
    });
    const others = ['acknowledge', 'resolve'].map(event_action =>
      only('pagerduty', { ...event, event_action, payload: undefined }),
    );
    expect(others).toMatchObject([{ state: 'acknowledged' }, { state: 'resolved' }]);
  });

  test('generates a key for a trigger without one, and requires it otherwise', () => {
    const { dedup_key: _, ...without } = event;
    expect((only('pagerduty', without) as Alert).key).toMatch(/^[0-9a-f]{32}$/);
    expect(only('pagerduty', { ...without, event_action: 'resolve' })).toEqual({
      error: "'dedup_key' is missing or blank",
    });
  });

  test('names every mistake of an event', () => {
    expect(only('pagerduty', { ...event, payload: { severity: 'bad' } })).toEqual({
      error:
        "'payload.summary' is missing or blank; 'payload.source' is missing or blank; " +
        "'payload.severity' must be one of critical, error, warning, info",
    });
  });

  test('reads version 1', () => {
    const old = { service_key: 'x', event_type: 'trigger', incident_key: 'i', description: 'Down', details: { a: 1 } };
    expect(only('pagerduty', old)).toMatchObject({
      key: 'i',
      state: 'open',
      title: 'Down',
      context: { details: { a: 1 } },
    });
    expect(only('pagerduty', { ...old, event_type: 'resolve' })).toMatchObject({ key: 'i', state: 'resolved' });
  });
});

describe('opsgenie', () => {
  test('reads an alert, with its priority as severity', () => {
    const alert = { message: 'Full', alias: 'disk', priority: 'P1', tags: ['db'], details: { free: 1 }, source: 'am' };
    expect(only('opsgenie', alert)).toMatchObject({
      key: 'disk',
      state: 'open',
      severity: 'critical',
      context: { priority: 'P1', tags: ['db'], details: { free: 1 }, sender: 'am' },
    });
    expect(only('opsgenie', { alias: 'disk' })).toEqual({ error: 'Message can not be empty.' });
  });
});

describe('zabbix', () => {
  const problem = { event_id: '42', event_value: '1', event_nseverity: '4', subject: 'CPU', host: 'web1' };
  test.each([
    [problem, 'open'],
    [{ ...problem, event_value: '0' }, 'resolved'],
    [{ ...problem, event_update_status: '1', event_update_action: 'acknowledged and commented' }, 'acknowledged'],
    [{ ...problem, event_update_status: '1', event_update_action: '6' }, 'acknowledged'],
    [{ ...problem, event_update_status: '1', event_update_action: 'changed severity from Warning to High' }, 'open'],
  ])('reads the event %j as %s', (event, state) => {
    expect(only('zabbix', event)).toMatchObject({ key: '42', state, severity: 'critical' });
  });

  test('ignores an update that does not acknowledge, and reads tags', () => {
    for (const event_update_action of ['4', 'commented', 'unacknowledged'])
      expect(only('zabbix', { ...problem, event_update_status: '1', event_update_action })).toHaveProperty('note');
    const tags = '[{"tag":"service","value":"shop"},{"tag":"urgent"}]';
    expect(only('zabbix', { ...problem, event_tags: tags })).toMatchObject({
      context: { tags: { service: 'shop', urgent: '' } },
    });
  });

  test('reads the formatted webhook of Grafana OnCall', () => {
    const formatted = { alert_uid: 'u1', title: 'CPU', state: 'OK', message: 'fine' };
    expect(only('zabbix', formatted)).toMatchObject({ key: 'u1', state: 'resolved' });
    expect(only('formatted', formatted)).toMatchObject({ key: 'u1', state: 'resolved' });
  });
});

describe('uptime-kuma', () => {
  const payload = (status: number) => ({
    heartbeat: { monitorID: 3, status, time: '2026-11-18 10:00:00.000', msg: 'timeout', important: true },
    monitor: { id: 3, name: 'Shop', url: 'https://shop.test', type: 'http', tags: [] },
    msg: '[Shop] [Down] timeout',
  });

  test('reads the status of the monitor', () => {
    expect([0, 1, 2, 3].map(status => only('uptime-kuma', payload(status)))).toMatchObject([
      { key: '3', state: 'open', title: 'Shop' },
      { key: '3', state: 'resolved' },
      { note: expect.any(String) },
      { note: expect.any(String) },
    ]);
    expect(only('uptime-kuma', { heartbeat: null, monitor: null, msg: 'Test' })).toHaveProperty('note');
  });

  test('reads a form, and the query of a GET', () => {
    const form = `--b\r\nContent-Disposition: form-data; name="data"\r\n\r\n${JSON.stringify(payload(0))}\r\n--b--\r\n`;
    expect(only('uptime-kuma', form, { contentType: 'multipart/form-data; boundary=b' })).toMatchObject({
      state: 'open',
    });
    const { heartbeat, monitor, msg } = payload(1);
    const query = new URLSearchParams({ heartbeat: JSON.stringify(heartbeat), monitor: JSON.stringify(monitor), msg });
    expect(only('uptime-kuma', '', { method: 'GET', url: `/in/x/?${query}` })).toMatchObject({
      key: '3',
      state: 'resolved',
    });
  });

  test('finds the same key in the title of both directions of its OnCall type', () => {
    const [down, up] = ['Shop is down', 'Shop is up'].map((title, i) =>
      only('uptime-kuma', { title, state: i ? 'ok' : 'alerting' }),
    );
    expect([down, up]).toMatchObject([
      { key: 'Shop', state: 'open' },
      { key: 'Shop', state: 'resolved' },
    ]);
  });
});

test('healthchecks reads the body that the guide gives', () => {
  const check = { name: 'Backup', tags: 'prod db', status: 'down' };
  const body = { code: 'c-1', name: 'Backup', status: 'down', now: '2026-11-18T10:00:00+00:00', check };
  expect(only('healthchecks', body)).toMatchObject({
    key: 'c-1',
    state: 'open',
    title: 'Backup',
    context: { tags: ['prod', 'db'] },
  });
  expect(only('healthchecks', { ...body, status: 'up' })).toMatchObject({ state: 'resolved' });
  expect(only('healthchecks', { ...body, status: '$STATUS' })).toHaveProperty('error');
});

describe('cloudevents', () => {
  const event = {
    specversion: '1.0',
    id: '1',
    source: '/disks',
    type: 'com.acme.disk.full',
    subject: 'db1',
    data: { severity: 'error' },
  };
  const structured = { contentType: 'application/cloudevents+json; charset=utf-8' };

  test('reads structured and batch mode', () => {
    expect(only('cloudevents', event, structured)).toMatchObject({
      id: '/disks 1',
      key: '/disks db1',
      state: 'open',
      severity: 'error',
      context: { event: { type: event.type, subject: 'db1' }, data: { severity: 'error' } },
    });
    const ended = { ...event, id: '2', type: 'com.acme.disk.resolved' };
    const batch = read('cloudevents', [event, ended, { id: '3' }], {
      contentType: 'application/cloudevents-batch+json',
    });
    expect(brief(batch.alerts)).toEqual([
      ['/disks db1', 'open', 'error'],
      ['/disks db1', 'resolved', 'error'],
      ['lacks the attribute source'],
    ]);
    expect(read('cloudevents', [], { contentType: 'application/cloudevents-batch+json' }).alerts).toEqual([]);
  });

  test('reads binary mode, with percent-encoded and quoted values', () => {
    const headers = {
      'ce-id': '1',
      'ce-source': '/disks',
      'ce-specversion': '1.0',
      'ce-type': 't.up',
      'ce-subject': '"caf%c3%a9"',
    };
    expect(only('cloudevents', { a: 1 }, { headers })).toMatchObject({
      key: '/disks café',
      state: 'resolved',
      context: { data: { a: 1 } },
    });
    const wrong = { ...headers, 'ce-subject': '%ff' };
    expect(() => read('cloudevents', {}, { headers: wrong })).toThrow(
      'has a header ce-subject that is not valid UTF-8',
    );
  });
});

describe('sns', () => {
  const alarm = (NewStateValue: string) => ({
    Type: 'Notification',
    MessageId: 'm1',
    TopicArn: 'arn:aws:sns:eu-west-1:1:ops',
    Subject: `${NewStateValue}: cpu`,
    Timestamp: '2026-11-18T10:00:00.000Z',
    Message: JSON.stringify({ AlarmName: 'cpu', AlarmArn: 'arn:alarm', NewStateValue, NewStateReason: 'Threshold' }),
  });

  test('reads the alarms of CloudWatch', () => {
    expect(['ALARM', 'OK', 'INSUFFICIENT_DATA'].map(state => only('sns', alarm(state)))).toMatchObject([
      { key: 'arn:alarm', state: 'open', id: 'sns m1' },
      { key: 'arn:alarm', state: 'resolved' },
      { key: 'arn:alarm', note: expect.stringContaining('INSUFFICIENT_DATA') },
    ]);
  });

  test('reads any other message by its subject', () => {
    expect(only('sns', { ...alarm('x'), Subject: 'Build', Message: 'failed' })).toMatchObject({
      key: 'Build',
      title: 'Build',
      state: 'open',
    });
  });
});

describe('email', () => {
  const mail = (subject: string, more: object = {}) =>
    only('email', { subject, message_id: '<1@x.test>', thread: null, text: 'Text', date: null, ...more }) as Alert;

  test.each([
    ['PROBLEM: disk of db1', 'open', null, 'disk of db1'],
    ['Re: RESOLVED - Disk of db1', 'resolved', null, 'disk of db1'],
    ['[FIRING:2] DiskFull (db1)', 'open', null, 'diskfull (db1)'],
    ['[RESOLVED] DiskFull (db1)', 'resolved', null, 'diskfull (db1)'],
    ['Resolved in 5m 3s: CPU of db1', 'resolved', null, 'cpu of db1'],
    ['** PROBLEM Service Alert: db1/disk is CRITICAL **', 'open', null, 'service alert: db1/disk'],
    ['** RECOVERY Service Alert: db1/disk is OK **', 'resolved', null, 'service alert: db1/disk'],
    ['DOWN | Nightly backup', 'open', null, 'nightly backup'],
    ['UP | Nightly backup', 'resolved', null, 'nightly backup'],
    ['CRITICAL: load of web', 'open', 'critical', 'load of web'],
    ['ACK: load of web', 'acknowledged', null, 'load of web'],
    ['web is down', 'open', null, 'web'],
    ['ALARM: "cpu" in EU (Ireland)', 'open', null, '"cpu" in eu (ireland)'],
  ])('reads the state from the subject %s', (subject, state, severity, key) => {
    const { time: _, ...alert } = mail(subject);
    expect([alert.state, alert.severity, alert.key, alert.title]).toEqual([state, severity, key, subject]);
  });

  test('a word in the middle is no state, and the mail is its own alert', () => {
    for (const subject of ['Everything is okay here', 'Upgrade of db1', 'Failed login of root', 'Up-to-date: no', 'OK'])
      expect([subject, mail(subject).key]).toEqual([subject, '<1@x.test>']);
  });

  test('a conversation has the key of its first mail', () => {
    expect(mail('RESOLVED: disk', { thread: '<0@x.test>' })).toMatchObject({ key: '<0@x.test>', state: 'resolved' });
  });
});

describe('mapping', () => {
  const rules: SourceRules = {
    slug: 'own',
    use: null,
    mapping: {
      alerts: 'problems',
      key: 'id',
      title: "join(' ', [host, what])",
      severity: 'level',
      resolve: 'over',
      acknowledge: "owner != ''",
      context: '{ host: host }',
    },
    routes: [{ when: "severity == 'critical'", event: 'page' }, { event: 'notice' }],
    group_by: ['host'],
  };
  const problem = { id: 1, host: 'a', what: 'down', level: 'P1', over: false, owner: '' };
  const route = (own: SourceRules, body: unknown) => {
    const compiled = compileSource(own);
    return compiled.read(request(body)).alerts.map(({ alert }) => ('state' in alert ? compiled.route(alert) : alert));
  };

  test('reads any JSON, and routes by the first condition that is true', () => {
    const problems = [
      problem,
      { ...problem, id: 2, level: 'P4', over: true },
      { ...problem, id: 3, host: 'b', owner: 'ann' },
      {},
    ];
    expect(route(rules, { problems })).toMatchObject([
      {
        key: '1',
        state: 'open',
        title: 'a down',
        event: 'page',
        triggerContext: { source: 'own', host: 'a', severity: 'critical' },
      },
      { key: '2', state: 'resolved', event: 'notice' },
      { key: '3', state: 'acknowledged', event: 'page' },
      { error: expect.stringContaining('mapping.key') },
    ]);
  });

  test('gives alerts of one group the same key of an occurrence', () => {
    const problems = [problem, { ...problem, id: 2 }, { ...problem, id: 3, host: 'b' }];
    const keys = route(rules, { problems }).map(alert => ('dedupKey' in alert ? alert.dedupKey : ''));
    expect(keys[0]).toBe(keys[1]);
    expect(keys[2]).not.toBe(keys[0]);
    expect(keys[0]).toMatch(/^own\//);
  });

  test('changes what a preset has read', () => {
    const own: SourceRules = { ...rules, use: 'alertmanager', mapping: { title: 'labels.instance' }, group_by: [] };
    expect(route(own, { ...group, alerts: [firing] })).toMatchObject([
      { key: firing.fingerprint, title: 'db1', event: 'page', dedupKey: `own/${firing.fingerprint}` },
    ]);
  });

  test('stops an expression that takes too much work', () => {
    const costly = "sort(items[].join('', [@, @]))[0]";
    const own: SourceRules = { ...rules, mapping: { key: costly }, group_by: [] };
    const items = Array.from({ length: 5_000 }, (_, i) => `item ${i} ${'x'.repeat(50)}`);
    const begun = performance.now();
    expect(route(own, { items })).toMatchObject([{ error: expect.stringMatching(/mapping.key cannot be evaluated/) }]);
    expect(performance.now() - begun).toBeLessThan(1_000);
  });
});

describe('hostile payloads', () => {
  const bodies = {
    'no JSON': 'hello',
    nothing: '',
    'invalid UTF-8': Buffer.from([0x7b, 0xff, 0x7d]),
    'nested 10,000 deep': '['.repeat(10_000) + ']'.repeat(10_000),
    'too many values': `[${'0,'.repeat(300_000)}0]`,
    'a number': '1',
    null: 'null',
    'a list': '[]',
  };
  test.each(
    sourcePresetNames.flatMap(preset => Object.entries(bodies).map(([what, body]) => ({ preset, what, body }))),
  )('$preset refuses $what with a reason', ({ preset, body }) => {
    const compiled = compileSource({ slug: 's', use: preset, mapping: null, routes: [{ event: 'e' }], group_by: [] });
    const begun = performance.now();
    let reason: string | undefined;
    try {
      const [first] = compiled.read(request(body)).alerts;
      reason = first && 'error' in first.alert ? first.alert.error : undefined;
    } catch (error) {
      reason = (error as Error).message;
    }
    expect(reason).toMatch(/^(is|must|has|lacks|contains) /);
    expect(performance.now() - begun).toBeLessThan(200);
  });

  test('an alert with text that cannot be stored is refused alone', () => {
    const compiled = compileSource({
      slug: 's',
      use: 'alertmanager',
      mapping: null,
      routes: [{ event: 'e' }],
      group_by: [],
    });
    const alert = { ...firing, annotations: { summary: 'a', text: 'nul \0' } };
    const [first] = compiled.read(request({ ...group, alerts: [alert] })).alerts;
    expect(() => compiled.route(first!.alert as Alert)).toThrow(/NUL/);
  });
});
