/** https://developers.sinch.com/docs/sms/api-reference/sms/batches/sendsms */
import { Type } from 'typebox';
import { optionalString } from '../../core/optional.ts';
import { truncate } from '../chat-text.ts';
import { endpoint as apiEndpoint, join, secretKey, TimeoutMs } from '../fields.ts';
import { bearer, field, pick, requestSender } from '../http-outcome.ts';
import { maxCharacters } from '../limits.ts';
import { type Provider, settings } from '../provider.ts';

const Settings = settings({
  service_plan_id: Type.String({
    pattern: '^[A-Za-z0-9_-]{1,64}$',
    patternHint: 'must be letters, digits, dashes and underscores',
    description: 'The service plan ID, from the SMS APIs page of the dashboard.',
    examples: ['jd63jf88477ll123ab4567cd89012ef3'],
  }),
  api_token: secretKey('The API token of the service plan.'),
  region: Type.Optional(
    Type.Enum(['us', 'eu', 'au', 'br', 'ca'], { description: 'The region of the service plan. Default: us.' }),
  ),
  from: optionalString({
    pattern: '^(\\+?[0-9]{3,15}|[A-Za-z0-9 ._-]{1,11})$',
    patternHint: 'must be a number such as +15555550100, or a sender name of up to 11 characters',
    description: 'The sender. Default: the one that Sinch chooses for the service plan.',
  }),
  endpoint: apiEndpoint('the region’s', 'a proxy'),
  timeout_ms: TimeoutMs,
});

export const sinch: Provider<typeof Settings> = {
  name: 'sinch',
  title: 'Sinch',
  medium: 'sms',
  summary: 'Text messages through the Sinch SMS API.',
  settings: Settings,
  credential: {
    name: 'API token',
    hint: 'copy that of the service plan, and check that the region is that of the plan',
  },
  // `client_reference` shows our id in Sinch's reports, but does not deduplicate.
  dedupes: false,
  open: requestSender(({ id, address, content }, { service_plan_id, api_token, region = 'us', from, endpoint }) => ({
    url: join(endpoint ?? `https://${region}.sms.api.sinch.com`, `/xms/v1/${service_plan_id}/batches`),
    ...bearer(api_token),
    json: {
      from,
      to: [address],
      body: truncate(content.text, maxCharacters.sinch.text),
      type: 'mt_text',
      client_reference: id,
    },
    id: field('id'),
    errorText: ({ json }) => [pick(json, 'code'), pick(json, 'text')].filter(Boolean).join(' ') || undefined,
  })),
};
