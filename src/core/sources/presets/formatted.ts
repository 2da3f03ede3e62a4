/** The "formatted webhook" of Grafana OnCall, which several senders can produce. */
import type { JsonObject } from '../../json.ts';
import {
  type Alert,
  keyOf,
  readObject,
  type SourcePreset,
  severityOf,
  stateOf,
  textOf,
  timeOf,
  titleOf,
} from '../alert.ts';
import { pickTexts } from './alertmanager.ts';

export const formatted: SourcePreset = {
  title: 'Formatted webhook (Grafana OnCall)',
  read: request => readObject(request, readFormatted),
};

export function readFormatted(payload: JsonObject): Alert {
  const title = textOf(payload.title);
  // Without a key, the title without the state in it is the same for the problem and its end.
  const subject = title
    ?.replace(/^\[\w+\]\s*/, '')
    .replace(/\s+(is\s+)?(up|down)\b.*$/i, '')
    .trim();
  const key = textOf(payload.alert_uid) ?? textOf(payload.ruleId) ?? subject;
  if (!key) throw new Error('has neither alert_uid nor a title');
  return {
    key: keyOf(key),
    state: stateOf(payload.state ?? payload.status),
    title: titleOf(title, payload.message, key),
    severity: severityOf(payload.severity),
    time: timeOf(payload.time ?? payload.timestamp),
    context: {
      ...pickTexts(payload, {
        message: 'message',
        image_url: 'image_url',
        link_to_upstream_details: 'link',
        ruleUrl: 'link',
      }),
      payload,
    },
  };
}
