/**
 * Silences of Alertmanager, https://github.com/prometheus/alertmanager/blob/main/api/v2/openapi.yaml: an acknowledgement creates one for
 * the labels of the alert, and taking it back or resolving the occurrence deletes it.
 */
import { parseDuration } from '../../durations.ts';
import { isObject } from '../../json.ts';
import { objectOf, textOf } from '../alert.ts';
import { authorizationOf, joinPath } from './requests.ts';
import type { UpdatePreset } from './update.ts';

export const defaultSilence = '4h';
const maxLabels = 100;

export const alertmanager: UpdatePreset = {
  title: 'Silence in Alertmanager',
  toRequest({ state, by, context, reference, title, link }, { url = '', silence_for = defaultSilence }, secret, now) {
    const headers = authorizationOf(secret);
    if (state !== 'acknowledged') {
      if (!reference) return { nothing: 'there is no silence' };
      return { method: 'DELETE', url: joinPath(url, `/api/v2/silence/${encodeURIComponent(reference)}`), headers };
    }
    const labels = Object.entries(objectOf(context.labels)).sort().slice(0, maxLabels);
    if (labels.length === 0) throw new Error('the alert has no labels, which the silence would match');
    const json = {
      ...(reference && { id: reference }),
      matchers: labels.map(([name, value]) => ({ name, value: String(value), isRegex: false, isEqual: true })),
      startsAt: new Date(now).toISOString(),
      endsAt: new Date(now + parseDuration(silence_for)!).toISOString(),
      createdBy: by,
      comment: `Acknowledged in Belfry: ${title} ${link}`.trim(),
    };
    return { method: 'POST', url: joinPath(url, '/api/v2/silences'), headers, json };
  },
  classify({ status, text }) {
    // A silence that has ended, or was deleted there.
    const isGone = status === 404 || (status === 500 && /already expired/i.test(text));
    return isGone ? { ok: true } : undefined;
  },
  referenceOf: ({ json }) => (isObject(json) ? textOf(json.silenceID) : undefined),
};
