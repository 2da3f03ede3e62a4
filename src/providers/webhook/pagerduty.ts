/** https://developer.pagerduty.com/api-reference/368ae3d938c9e-send-an-event-to-pager-duty (Events API v2) */
import { Type } from 'typebox';
import { optionalString } from '../../core/optional.ts';
import { truncate } from '../chat-text.ts';
import { endpoint, join, TimeoutMs } from '../fields.ts';
import { errorsOf, field, pick, sendHttp } from '../http-outcome.ts';
import { maxCharacters } from '../limits.ts';
import { type Provider, settings } from '../provider.ts';
import { httpSender } from '../sending.ts';

const defaultEndpoint = 'https://events.pagerduty.com';

const Settings = settings({
  routing_key: Type.String({
    secret: true,
    pattern: '^[A-Za-z0-9]{32}$',
    patternHint: 'must be 32 letters and digits',
    description: 'The integration key of an Events API v2 integration.',
  }),
  severity: Type.Optional(
    Type.Enum(['critical', 'error', 'warning', 'info'], { description: 'The severity of alerts. Default: error.' }),
  ),
  source: optionalString({
    minLength: 1,
    maxLength: 255,
    description: 'The affected system. Default: the organization and the event.',
  }),
  endpoint: endpoint(defaultEndpoint, 'https://events.eu.pagerduty.com'),
  timeout_ms: TimeoutMs,
});

export const pagerduty: Provider<typeof Settings> = {
  name: 'pagerduty',
  title: 'PagerDuty',
  medium: 'webhook',
  summary: 'Triggers an alert in PagerDuty.',
  settings: Settings,
  credential: { name: 'integration key', hint: 'copy that of an Events API v2 integration of the service' },
  // By `dedup_key`, as long as the alert is open.
  dedupes: true,
  updates: ['update'],
  reads: 'text',
  reach: () => 'room',
  open({ routing_key, severity = 'error', source, endpoint = defaultEndpoint, timeout_ms }, { outbound }) {
    const post = (event: object) =>
      sendHttp(outbound, {
        url: join(endpoint, '/v2/enqueue'),
        json: { routing_key, ...event },
        timeoutMs: timeout_ms,
        secrets: [routing_key],
        id: field('dedup_key'),
        errorText: ({ json }) => errorsOf(json).join('; ') || pick(json, 'message'),
        classify: ({ status, json }) =>
          status === 400 && /routing[_ ]key|integration key/i.test(errorsOf(json).join(' '))
            ? { retry: false, denied: true }
            : undefined,
      });
    return httpSender(
      ({ id, content, createdAt, tags }) =>
        post({
          event_action: 'trigger',
          dedup_key: id,
          payload: {
            summary: truncate(content.title || content.text, maxCharacters.pagerduty.summary) || 'Belfry',
            source: source ?? `${tags.organization}/${tags.event}`,
            severity,
            timestamp: createdAt.toISOString(),
            custom_details: content.data ?? { text: content.text },
          },
          client: 'Belfry',
        }),
      {
        // An acknowledged alert cannot be opened again: the next message of the occurrence creates another.
        update: async ({ id, change }) =>
          change === 'reopened'
            ? { ok: true }
            : post({
                event_action: change === 'resolved' || change === 'cancelled' ? 'resolve' : 'acknowledge',
                dedup_key: id,
              }),
      },
    );
  },
};
