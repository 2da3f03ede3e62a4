/** https://docs.bird.com/api/channels-api/api-reference/messaging */
import { Type } from 'typebox';
import { endpoint, join, secretKey, TimeoutMs } from '../fields.ts';
import { bearer, type Failure, field, type ProviderAnswer, pick, requestSender } from '../http-outcome.ts';
import { type Provider, settings } from '../provider.ts';

const defaultEndpoint = 'https://api.bird.com';

const id = (description: string) =>
  Type.String({
    pattern: '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$',
    patternHint: 'must be a UUID',
    description,
    examples: ['a1b2c3d4-0000-4000-8000-000000000000'],
  });

const Settings = settings({
  access_key: secretKey('An access key that may send messages.'),
  workspace_id: id('The ID of the workspace.'),
  channel_id: id('The ID of the SMS channel, which defines the sender.'),
  endpoint: endpoint(defaultEndpoint, 'a proxy'),
  timeout_ms: TimeoutMs,
});

export const bird: Provider<typeof Settings> = {
  name: 'bird',
  title: 'Bird',
  medium: 'sms',
  summary: 'Text messages through the Bird API, formerly MessageBird.',
  settings: Settings,
  credential: { name: 'access key', hint: 'create one that may send messages' },
  open: requestSender(({ address, content }, { access_key, workspace_id, channel_id, endpoint = defaultEndpoint }) => ({
    url: join(endpoint, `/workspaces/${workspace_id}/channels/${channel_id}/messages`),
    ...bearer(access_key, 'AccessKey'),
    json: {
      receiver: { contacts: [{ identifierKey: 'phonenumber', identifierValue: address }] },
      body: { type: 'text', text: { text: content.text } },
    },
    id: field('id'),
    errorText: field('message'),
    classify,
  })),
};

/** States of a message that Bird took, but does not send. */
const unsentStates = new Set(['rejected', 'sending_failed', 'delivery_failed', 'skipped', 'deleted']);

/** 403: the access policy of the key does not include the channel. */
function classify({ status, json }: ProviderAnswer): Partial<Failure> | undefined {
  if (status === 403) return { retry: false, denied: true };
  const state = pick(json, 'status') ?? '';
  if (status >= 300 || !unsentStates.has(state)) return undefined;
  return { retry: false, reason: [state, pick(json, 'reason')].filter(Boolean).join(': ') };
}
