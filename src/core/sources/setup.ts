/** What users paste into the systems that send alerts, with the address of their source. */

import { secretPlaceholder, zabbixMediaType } from './zabbix-media-type.ts';

interface SetupOptions {
  /** Without a final slash. */
  base: string;
  token: string;
  hasSecret: boolean;
  /** What precedes the @ of its mail address. */
  mailName: string;
  /** Preset of the source: its senders come first. */
  use: string | null;
}

export interface Setup {
  name: string;
  title: string;
  /** Where the text belongs. */
  hint: string;
  text: string;
}

interface Sender extends Setup {
  /** Presets that read what it sends. Absent: any, as its path decides the format. */
  for?: readonly (string | null)[];
  /** Whether it proves the secret of the source. Absent: a source with a secret refuses it. */
  provesSecret?: true;
}

/** Returns the senders that can use the source, those of its preset first. */
export function setupOf({ base, token, mailName, hasSecret, use }: SetupOptions): Setup[] {
  const senders = sendersOf(base.replace(/\/$/, ''), token, mailName, hasSecret);
  const usable = senders.filter(one => (!one.for || one.for.includes(use)) && (!hasSecret || one.provesSecret));
  const isOwn = ({ name, for: presets }: Sender) => presets !== undefined || (use !== null && name.startsWith(use));
  const ordered = [...usable.filter(isOwn), ...usable.filter(one => !isOwn(one))];
  return ordered.map(({ name, title, hint, text }) => ({ name, title, hint, text }));
}

function sendersOf(base: string, token: string, mailName: string, hasSecret: boolean): Sender[] {
  const url = `${base}/in/${token}/`;
  const host = base.replace(/^https?:\/\//, '');
  const bearer = hasSecret ? `\n        http_config:\n          authorization: { credentials: YOUR_SECRET }` : '';
  const header = hasSecret ? ` \\\n  -H 'Authorization: Bearer YOUR_SECRET'` : '';
  const withSecret = hasSecret ? ' Authorization header: scheme Bearer, credentials YOUR_SECRET.' : '';
  const json = (value: object) => JSON.stringify(value, null, 2);
  const curl = (body: object, headers = `-H 'Content-Type: application/json'`) =>
    `curl ${url} \\\n  ${headers}${header} \\\n  -d '${JSON.stringify(body)}'`;
  return [
    {
      name: 'alertmanager',
      for: ['alertmanager'],
      provesSecret: true,
      title: 'Alertmanager',
      hint: 'alertmanager.yml. Each alert becomes its own occurrence.',
      text: `route:
  receiver: belfry
receivers:
  - name: belfry
    webhook_configs:
      - url: ${url}
        send_resolved: true${bearer}`,
    },
    {
      name: 'grafana',
      for: ['grafana'],
      provesSecret: true,
      title: 'Grafana webhook',
      hint: 'Alerting → Contact points → New, integration Webhook.',
      text: `URL: ${url}\nHTTP method: POST${hasSecret ? '\nHMAC signature, secret: YOUR_SECRET' : ''}`,
    },
    {
      name: 'grafana-oncall',
      for: ['grafana', 'alertmanager', 'formatted'],
      provesSecret: true,
      title: 'Grafana OnCall',
      hint: `Contact point of the type OnCall, or the address of an OnCall integration that moves here.${withSecret}`,
      text: `${base}/integrations/v1/grafana_alerting/${token}/`,
    },
    {
      name: 'zabbix',
      for: ['zabbix'],
      provesSecret: true,
      title: 'Zabbix media type',
      hint: 'Save as media_belfry.yaml. Alerts → Media types → Import, then add the media to a user, and an action with its operations.',
      text: zabbixMediaType(url, hasSecret ? secretPlaceholder : ''),
    },
    {
      name: 'uptime-kuma',
      for: ['uptime-kuma'],
      provesSecret: true,
      title: 'Uptime Kuma',
      hint: 'Settings → Notifications → Setup, type Webhook, body application/json.',
      text: `Post URL: ${url}${hasSecret ? '\nAdditional headers: { "Authorization": "Bearer YOUR_SECRET" }' : ''}`,
    },
    {
      name: 'healthchecks',
      for: ['healthchecks'],
      provesSecret: true,
      title: 'Healthchecks',
      hint: 'Integrations → Webhook. Use the same for “down” and “up”.',
      text: `POST ${url}

Request headers
Content-Type: application/json${hasSecret ? '\nAuthorization: Bearer YOUR_SECRET' : ''}

Request body
{"code":"$CODE","name":$NAME_JSON,"status":"$STATUS","now":"$NOW","check":$JSON}`,
    },
    {
      name: 'cloudevents',
      for: ['cloudevents'],
      provesSecret: true,
      title: 'CloudEvents',
      hint: 'Structured, binary and batch mode. An event whose type or state ends in “resolved” ends the alert.',
      text: curl(
        {
          ...{ specversion: '1.0', id: '1', source: '/disks', type: 'com.example.disk.open', subject: 'sda' },
          data: { title: 'Disk full', severity: 'critical' },
        },
        `-H 'Content-Type: application/cloudevents+json'`,
      ),
    },
    {
      name: 'sns',
      for: ['sns'],
      provesSecret: true,
      title: 'Amazon SNS',
      hint: 'The secret of the source must be the ARN of the topic. The subscription is confirmed automatically.',
      text: `aws sns subscribe --topic-arn YOUR_TOPIC_ARN \\\n  --protocol ${base.startsWith('https') ? 'https' : 'http'} --notification-endpoint ${url}`,
    },
    {
      name: 'email',
      for: ['email'],
      title: 'Email',
      hint:
        'Instead of this domain, use one whose mail reaches the listener of Belfry (BELFRY_SMTP_IN). The address is secret: everyone who knows it ' +
        'can send alerts. “RESOLVED:” or “OK:” in front of the same subject ends an alert.',
      text: `${mailName}@${new URL(base).hostname}`,
    },
    {
      name: 'formatted',
      for: ['formatted'],
      provesSecret: true,
      title: 'Formatted webhook',
      hint: 'The format of Grafana OnCall, for senders whose body you write. “state”: “ok” ends the alert.',
      text: curl({ alert_uid: 'disk-1', title: 'Disk full', state: 'alerting', message: 'sda is at 98 %' }),
    },
    {
      name: 'json',
      for: [null],
      provesSecret: true,
      title: 'Any JSON',
      hint: 'The mapping of the source reads it. Send any body that has what the mapping looks for.',
      text: curl({ id: 'disk-1', title: 'Disk full', severity: 'critical', status: 'firing' }),
    },
    {
      name: 'pagerduty-alertmanager',
      title: 'Alertmanager’s PagerDuty receiver',
      hint: 'alertmanager.yml. It sends one event for each group: group by all labels to get one for each alert.',
      text: `route:
  receiver: belfry
  group_by: ['...']
receivers:
  - name: belfry
    pagerduty_configs:
      - routing_key: ${token}
        url: ${base}/v2/enqueue`,
    },
    {
      name: 'opsgenie-alertmanager',
      title: 'Alertmanager’s Opsgenie receiver',
      hint: 'alertmanager.yml. It sends one alert for each group: group by all labels to get one for each alert.',
      text: `route:
  receiver: belfry
  group_by: ['...']
receivers:
  - name: belfry
    opsgenie_configs:
      - api_key: ${token}
        api_url: ${base}/`,
    },
    {
      name: 'pagerduty-v2',
      title: 'PagerDuty client, version 2',
      hint: 'Change the URL of the Events API, and use the key as routing key.',
      text: `curl ${base}/v2/enqueue -d '${json({
        ...{ routing_key: token, event_action: 'trigger', dedup_key: 'disk-1' },
        payload: { summary: 'Disk full', source: 'db1', severity: 'critical' },
      })}'`,
    },
    {
      name: 'pagerduty-v1',
      title: 'PagerDuty client, version 1',
      hint: 'Change the URL of the Events API, and use the key as service key.',
      text: `curl ${base}/generic/2010-04-15/create_event.json -d '${json({
        ...{ service_key: token, event_type: 'trigger', incident_key: 'disk-1', description: 'Disk full' },
      })}'`,
    },
    {
      name: 'opsgenie-sdk',
      title: 'Opsgenie SDKs',
      hint: 'Only the host and the key change. Also under /jsm/ops/integration/ for Jira Service Management.',
      text: `# Python
configuration = opsgenie_sdk.Configuration()
configuration.host = '${base}'
configuration.api_key['Authorization'] = '${token}'

# Go
client.Config{ApiKey: "${token}", OpsGenieAPIURL: "${host}"}

# curl
curl ${base}/v2/alerts -H 'Authorization: GenieKey ${token}' \\
  -H 'Content-Type: application/json' \\
  -d '{"message":"Disk full","alias":"disk-1","priority":"P1"}'`,
    },
  ];
}
