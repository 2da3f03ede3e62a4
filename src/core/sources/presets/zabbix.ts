/**
 * Zabbix has no fixed payload: its media types are scripts. This reads what ours sends, by the names of Zabbix' macros, and the formatted
 * webhook of Grafana OnCall.
 */
import type { JsonObject } from '../../json.ts';
import {
  type Alert,
  keyOf,
  readObject,
  type Severity,
  type SkippedAlert,
  type SourcePreset,
  textOf,
  timeOf,
  titleOf,
} from '../alert.ts';
import { pickTexts } from './alertmanager.ts';
import { readFormatted } from './formatted.ts';

/** Not classified, information, warning, average, high, disaster. */
const levels: Severity[] = ['info', 'info', 'warning', 'error', 'critical', 'critical'];
/** `{EVENT.UPDATE.ACTION}` is such as "acknowledged, commented and changed severity from Warning to High"; the API has bits instead. */
const updates = {
  acknowledged: { words: /\backnowledged\b/, bit: 2 },
  changedSeverity: { words: /\bchanged severity\b/, bit: 8 },
};

function hasUpdate(action: string, { words, bit }: { words: RegExp; bit: number }): boolean {
  return /^\d+$/.test(action) ? (Number(action) & bit) !== 0 : words.test(action);
}

export const zabbix: SourcePreset = {
  title: 'Zabbix',
  read: request => readObject(request, readEvent),
};

function readEvent(payload: JsonObject): Alert | SkippedAlert {
  const id = textOf(payload.event_id);
  if (id === undefined) return readFormatted(payload);
  const value = textOf(payload.event_value);
  if (value !== '0' && value !== '1') throw new Error('has an event_value other than 0 and 1');
  const isUpdate = textOf(payload.event_update_status) === '1';
  const action = textOf(payload.event_update_action) ?? '';
  const isAcknowledgement = isUpdate && hasUpdate(action, updates.acknowledged);
  // The updates of a service have no action.
  const isChange = textOf(payload.event_source) === '4' || hasUpdate(action, updates.changedSeverity);
  if (isUpdate && value === '1' && !isAcknowledgement && !isChange)
    return { key: id, note: 'an update that does not change the state' };
  const level = Number(textOf(payload.event_nseverity) ?? -1);
  return {
    key: keyOf(id),
    state: value === '0' ? 'resolved' : isAcknowledgement ? 'acknowledged' : 'open',
    title: titleOf(payload.subject, payload.event_name, payload.message),
    severity: levels[level] ?? null,
    time: timeOf(payload.event_time),
    context: {
      ...pickTexts(payload, {
        host: 'host',
        trigger_id: 'trigger_id',
        message: 'message',
        url: 'url',
        event_update_user: 'user',
      }),
      tags: readTags(payload.event_tags),
    },
  };
}

/** `{EVENT.TAGSJSON}` is a list of tags and values, as text. */
function readTags(value: unknown): JsonObject {
  let list: unknown = value;
  try {
    if (typeof value === 'string') list = JSON.parse(value);
  } catch {
    return {};
  }
  if (!Array.isArray(list)) return {};
  const tags = list
    .slice(0, 100)
    .map(item => [textOf((item as JsonObject | null)?.tag), textOf((item as JsonObject | null)?.value)]);
  return Object.fromEntries(tags.filter(([tag]) => tag !== undefined).map(([tag, text]) => [tag, text ?? '']));
}
