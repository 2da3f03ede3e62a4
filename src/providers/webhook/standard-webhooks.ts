import { Type } from 'typebox';
import { type Provider, settings } from '../provider.ts';

const Settings = settings({
  url: Type.Optional(
    Type.String({
      maxLength: 2048,
      // A password in the address would be stored and exported in the clear.
      pattern: '^https?://[^\\s/?#@]+([/?#]\\S*)?$',
      patternHint: 'must be an http or https address without a user name in it',
      description: "Where to post. Absent: to each recipient's own address named `webhook`.",
    }),
  ),
  secret: Type.String({
    secret: true,
    // 24 to 64 bytes, as the Standard Webhooks specification asks.
    pattern: '^whsec_[A-Za-z0-9+/]{32,86}={0,2}$',
    patternHint: 'must be whsec_ and then 24 to 64 bytes in base64',
    description: 'Signs every message; the receiver knows it too.',
  }),
});

export const standardWebhooks: Provider<typeof Settings> = {
  name: 'standard-webhooks',
  medium: 'webhook',
  summary: 'An HTTP endpoint, signed as in https://www.standardwebhooks.com.',
  settings: Settings,
};
