/** Events of PagerDuty's clients: https://developer.pagerduty.com/docs/events-api-v2/overview/, and version 1 before it. */
import { randomUUID } from 'node:crypto';
import { isObject, type JsonObject } from '../../json.ts';
import { lookUp } from '../../lookup.ts';
import {
  type Alert,
  type AlertState,
  keyOf,
  objectOf,
  parseObjectBody,
  readOne,
  type SourcePreset,
  severities,
  severityOf,
  textOf,
  timeOf,
  titleOf,
} from '../alert.ts';
import { pickTexts } from './alertmanager.ts';

const actions: Record<string, AlertState> = { trigger: 'open', acknowledge: 'acknowledged', resolve: 'resolved' };

export const pagerduty: SourcePreset = {
  title: 'PagerDuty Events API',
  limited: 429,
  read(request) {
    const event = parseObjectBody(request);
    return { alerts: readOne(() => ('service_key' in event || 'event_type' in event ? readV1(event) : readV2(event))) };
  },
};

/** Returns the mistakes of an event as PagerDuty names them. */
export function findEventMistakes(event: JsonObject): string[] {
  const isV1 = 'service_key' in event || 'event_type' in event;
  const [field, action] = isV1 ? ['event_type', event.event_type] : ['event_action', event.event_action];
  if (!lookUp(actions, String(action))) return [`'${field}' must be one of trigger, acknowledge, resolve`];
  if (action !== 'trigger') {
    const key = isV1 ? 'incident_key' : 'dedup_key';
    return isBlank(event[key]) ? [`'${key}' is missing or blank`] : [];
  }
  if (isV1) return isBlank(event.description) ? ["'description' is missing or blank"] : [];
  const { payload } = event;
  if (!isObject(payload)) return ["'payload' is missing or blank"];
  const mistakes = ['summary', 'source', 'severity']
    .filter(name => isBlank(payload[name]))
    .map(name => `'payload.${name}' is missing or blank`);
  const severity = textOf(payload.severity)?.toLowerCase();
  if (severity !== undefined && !isBlank(severity) && !(severities as readonly string[]).includes(severity))
    mistakes.push(`'payload.severity' must be one of ${severities.join(', ')}`);
  return mistakes;
}

function isBlank(value: unknown): boolean {
  return !textOf(value)?.trim();
}

function readV2(event: JsonObject): Alert {
  refuseMistakes(event);
  const payload = objectOf(event.payload);
  return {
    key: keyOf(textOf(event.dedup_key) ?? randomUUID().replaceAll('-', '')),
    state: lookUp(actions, String(event.event_action))!,
    title: titleOf(payload.summary, event.dedup_key),
    severity: severityOf(payload.severity),
    time: timeOf(payload.timestamp),
    context: {
      ...pickTexts(payload, { source: 'host', component: 'component', group: 'group', class: 'class' }),
      ...pickTexts(event, { client: 'client', client_url: 'client_url' }),
      details: payload.custom_details ?? {},
      ...(Array.isArray(event.links) && { links: event.links }),
      ...(Array.isArray(event.images) && { images: event.images }),
    },
  };
}

function readV1(event: JsonObject): Alert {
  refuseMistakes(event);
  return {
    key: keyOf(textOf(event.incident_key) ?? randomUUID().replaceAll('-', '')),
    state: lookUp(actions, String(event.event_type))!,
    title: titleOf(event.description, event.incident_key),
    severity: null,
    time: null,
    context: {
      ...pickTexts(event, { client: 'client', client_url: 'client_url' }),
      details: event.details ?? {},
      ...(Array.isArray(event.contexts) && { contexts: event.contexts }),
    },
  };
}

function refuseMistakes(event: JsonObject): void {
  const mistakes = findEventMistakes(event);
  if (mistakes.length > 0) throw new Error(mistakes.join('; '));
}
