/**
 * A media type of Zabbix, in the format of its export: version 6.0, which later versions import too. Its script posts what
 * presets/zabbix.ts reads. `npm run generate` writes it to deploy/zabbix/.
 */

export const addressPlaceholder = '<put the address of the source here>';
export const secretPlaceholder = 'YOUR_SECRET';

/** Without a secret, the parameter is empty. */
export function zabbixMediaType(address: string, secret: string): string {
  const parameters = Object.entries({ ...macros, belfry_url: address, belfry_secret: secret }).sort();
  const templates = messages.map(
    ([source, mode, subject, message]) => `        - event_source: ${source}
          operation_mode: ${mode}
          subject: '${subject}'
          message: |
${indent(message, 12)}`,
  );
  return `zabbix_export:
  version: '6.0'
  media_types:
    - name: Belfry
      type: WEBHOOK
      parameters:
${parameters.map(([name, value]) => `        - name: ${name}\n          value: '${value}'`).join('\n')}
      max_sessions: '1'
      attempts: '10'
      attempt_interval: 10s
      script: |
${indent(script, 8)}
      description: |
        Sends problems, their updates and their recoveries to a source of Belfry with "use: zabbix".
        belfry_url is the address of the source. belfry_secret is its secret, if it has one.
        For links to problems, set the global macro {$ZABBIX.URL} to the address of the Zabbix frontend.
      message_templates:
${templates.join('\n')}
`;
}

const indent = (text: string, spaces: number) => text.replaceAll(/^(?=.)/gm, ' '.repeat(spaces));

const macros = {
  event_id: '{EVENT.ID}',
  event_name: '{EVENT.NAME}',
  event_nseverity: '{EVENT.NSEVERITY}',
  event_source: '{EVENT.SOURCE}',
  event_tags: '{EVENT.TAGSJSON}',
  event_update_action: '{EVENT.UPDATE.ACTION}',
  event_update_status: '{EVENT.UPDATE.STATUS}',
  event_update_user: '{USER.FULLNAME}',
  event_value: '{EVENT.VALUE}',
  host: '{HOST.NAME}',
  message: '{ALERT.MESSAGE}',
  subject: '{ALERT.SUBJECT}',
  trigger_id: '{TRIGGER.ID}',
  zabbix_url: '{$ZABBIX.URL}',
};

// ECMAScript 5, for Duktape. Zabbix sends again if it throws.
const script = `try {
  var params = JSON.parse(value);
  var request = new HttpRequest();
  if (!/^https?:\\/\\/[^\\/]+.*\\/in\\/[^\\/]+\\/?$/.test(params.belfry_url)) {
    throw 'set the parameter belfry_url to the address of the source in Belfry';
  }
  // Triggers, internal events and services: only they recover.
  if (['0', '3', '4'].indexOf(params.event_source) === -1) {
    throw 'Belfry takes problems of triggers, services and internal events only';
  }
  var payload = {};
  Object.keys(params).forEach(function (name) {
    // A macro without a value is left as it is.
    if (/^(event_|host$|message$|subject$|trigger_id$)/.test(name) && !/^\\{[A-Z.]+\\}$/.test(params[name])) {
      payload[name] = params[name];
    }
  });
  if (/^https?:/.test(params.zabbix_url) && payload.trigger_id) {
    payload.url = params.zabbix_url.replace(/\\/+$/, '') + '/tr_events.php?triggerid=' + payload.trigger_id + '&eventid=' + payload.event_id;
  }
  if (params.HTTPProxy) request.setProxy(params.HTTPProxy);
  request.addHeader('Content-Type: application/json');
  if (params.belfry_secret) request.addHeader('Authorization: Bearer ' + params.belfry_secret);
  var answer = request.post(params.belfry_url, JSON.stringify(payload));
  var status = request.getStatus();
  if (status < 200 || status >= 300) throw 'Belfry answered ' + status + ': ' + answer;
  return 'OK';
} catch (error) {
  Zabbix.log(3, '[ Belfry webhook ] ' + error);
  throw 'Sending failed: ' + error;
}`;

const problem = `Started at {EVENT.TIME} on {EVENT.DATE}
Host: {HOST.NAME}
Severity: {EVENT.SEVERITY}
Operational data: {EVENT.OPDATA}`;
const messages: [source: string, mode: string, subject: string, message: string][] = [
  ['TRIGGERS', 'PROBLEM', '{EVENT.NAME}', problem],
  ['TRIGGERS', 'RECOVERY', '{EVENT.NAME}', 'Resolved in {EVENT.DURATION}\nHost: {HOST.NAME}'],
  ['TRIGGERS', 'UPDATE', '{EVENT.NAME}', '{USER.FULLNAME} {EVENT.UPDATE.ACTION} it.\n{EVENT.UPDATE.MESSAGE}'],
  ['INTERNAL', 'PROBLEM', '{EVENT.NAME}', 'Started at {EVENT.TIME} on {EVENT.DATE}\nHost: {HOST.NAME}'],
  ['INTERNAL', 'RECOVERY', '{EVENT.NAME}', 'Resolved in {EVENT.DURATION}\nHost: {HOST.NAME}'],
  ['SERVICE', 'PROBLEM', '{SERVICE.NAME}: {EVENT.NAME}', 'Severity: {EVENT.SEVERITY}\n{SERVICE.ROOTCAUSE}'],
  ['SERVICE', 'RECOVERY', '{SERVICE.NAME}: {EVENT.NAME}', 'Resolved in {EVENT.DURATION}'],
  [
    'SERVICE',
    'UPDATE',
    '{SERVICE.NAME}: {EVENT.NAME}',
    'The severity is {EVENT.UPDATE.SEVERITY}.\n{SERVICE.ROOTCAUSE}',
  ],
];
