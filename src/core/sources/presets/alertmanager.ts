/** https://prometheus.io/docs/alerting/latest/configuration/#webhook_config, version 4; Grafana extends the same payload. */
import { createHash } from 'node:crypto';
import { canonicalJson, type JsonObject } from '../../json.ts';
import {
  type Alert,
  objectOf,
  parseObjectBody,
  readEach,
  type SourcePayload,
  type SourcePreset,
  severityOf,
  textOf,
  timeOf,
  titleOf,
} from '../alert.ts';

export const alertmanager: SourcePreset = {
  title: 'Prometheus Alertmanager',
  limited: 503,
  read: request => readGroup(parseObjectBody(request)),
};

/** Reads the alerts of a group one by one: the group fires as long as any of them does. */
export function readGroup(payload: JsonObject, more: (alert: JsonObject) => JsonObject = () => ({})): SourcePayload {
  const { alerts, truncatedAlerts } = payload;
  if (!Array.isArray(alerts)) throw new Error('has no list of alerts');
  const group = {
    ...pickTexts(payload, { groupKey: 'group_key', receiver: 'receiver', externalURL: 'external_url' }),
    group_labels: objectOf(payload.groupLabels),
  };
  const isTruncated = typeof truncatedAlerts === 'number' && truncatedAlerts > 0;
  return {
    alerts: readEach(alerts, 'alerts', alert => readAlert(alert, group, more)),
    ...(isTruncated && { note: `the sender left out ${truncatedAlerts} alerts: raise max_alerts` }),
  };
}

function readAlert(alert: JsonObject, group: JsonObject, more: (alert: JsonObject) => JsonObject): Alert {
  const labels = objectOf(alert.labels);
  const annotations = objectOf(alert.annotations);
  const key = textOf(alert.fingerprint) ?? fingerprintOf(labels);
  // `endsAt` of a firing alert is the year 1, or a guess in the future: only the status counts.
  if (alert.status !== 'firing' && alert.status !== 'resolved')
    throw new Error('has a status other than firing and resolved');
  return {
    key,
    state: alert.status === 'firing' ? 'open' : 'resolved',
    title: titleOf(annotations.summary, annotations.title, labels.alertname, annotations.description),
    severity: severityOf(labels.severity),
    time: timeOf(alert.startsAt),
    context: {
      labels,
      annotations,
      starts_at: timeOf(alert.startsAt),
      ends_at: alert.status === 'resolved' ? timeOf(alert.endsAt) : null,
      ...pickTexts(alert, { generatorURL: 'generator_url' }),
      ...group,
      ...more(alert),
    },
  };
}

function fingerprintOf(labels: JsonObject): string {
  if (Object.keys(labels).length === 0) throw new Error('has neither a fingerprint nor labels');
  return createHash('sha256').update(canonicalJson(labels)).digest('hex').slice(0, 16);
}

/** Returns the texts under these names by other names; those that are absent are left out. */
export function pickTexts(from: JsonObject, names: Record<string, string>): JsonObject {
  const found = Object.entries(names).map(([name, to]) => [to, textOf(from[name])] as const);
  return Object.fromEntries(found.filter((pair): pair is readonly [string, string] => pair[1] !== undefined));
}
