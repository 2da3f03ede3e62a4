/** https://docs.opsgenie.com/docs/alert-api#create-alert */
import { Type } from 'typebox';
import { isObject } from '../../core/json.ts';
import type { OccurrenceChange } from '../../core/message/message-updates.ts';
import { truncate } from '../chat-text.ts';
import { endpoint, join, secretKey, TimeoutMs } from '../fields.ts';
import { bearer, busy, field, readRetryAfter, sendHttp } from '../http-outcome.ts';
import { maxCharacters } from '../limits.ts';
import { type Provider, settings } from '../provider.ts';
import { httpSender } from '../sending.ts';

const defaultEndpoint = 'https://api.opsgenie.com';

const Settings = settings({
  api_key: secretKey('The key of an API integration.'),
  priority: Type.Optional(
    Type.Enum(['P1', 'P2', 'P3', 'P4', 'P5'], { description: 'The priority of alerts. Default: P3.' }),
  ),
  endpoint: endpoint(defaultEndpoint, 'https://api.eu.opsgenie.com'),
  timeout_ms: TimeoutMs,
});

const max = maxCharacters.opsgenie;

const actions: Record<OccurrenceChange, string> = {
  acknowledged: 'acknowledge',
  snoozed: 'acknowledge',
  reopened: 'unacknowledge',
  resolved: 'close',
  cancelled: 'close',
};

export const opsgenie: Provider<typeof Settings> = {
  name: 'opsgenie',
  title: 'Opsgenie',
  medium: 'webhook',
  summary: 'Creates an alert in Opsgenie.',
  settings: Settings,
  credential: {
    name: 'API key',
    hint: 'copy that of an API integration, and check that endpoint is that of its region',
  },
  // By `alias`, as long as the alert is open.
  dedupes: true,
  updates: ['update'],
  reads: 'text',
  reach: () => 'room',
  open({ api_key, priority, endpoint = defaultEndpoint, timeout_ms }, { outbound }) {
    const post = (path: string, json: object) =>
      sendHttp(outbound, {
        url: join(endpoint, `/v2/alerts${path}`),
        ...bearer(api_key, 'GenieKey'),
        json,
        timeoutMs: timeout_ms,
        id: field('requestId'),
        errorText: field('message'),
        // 403: the key belongs to another kind of integration.
        classify: ({ status, headers }) => {
          if (status === 403) return { retry: false, denied: true };
          const isThrottled = status === 429 && headers['retry-after'] === undefined;
          return isThrottled ? busy(readRetryAfter(headers['x-ratelimit-period-in-sec'])) : undefined;
        },
      });
    return httpSender(
      ({ id, content, tags }) =>
        post('', {
          message: truncate(content.title || content.text, max.message) || 'Belfry',
          alias: id,
          description: truncate(content.text, max.description),
          source: 'Belfry',
          entity: truncate(tags.event, max.entity),
          ...toDetails(content.data),
          priority,
        }),
      {
        update: ({ id, change, note }) => {
          const path = `/${encodeURIComponent(id)}/${actions[change]}?identifierType=alias`;
          return post(path, { source: 'Belfry', note: truncate(note, max.note) });
        },
      },
    );
  },
};

/** Details are a map of texts, so other values are written as JSON. Those that are too long are left out. */
function toDetails(data: unknown): { details?: Record<string, string> } {
  if (!isObject(data)) return {};
  const details: Record<string, string> = {};
  let length = 0;
  for (const [name, value] of Object.entries(data)) {
    const text = typeof value === 'string' ? value : JSON.stringify(value);
    length += name.length + text.length;
    if (length > max.details) break;
    details[name] = text;
  }
  return { details };
}
