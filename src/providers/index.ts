/** Every provider, by the name that `use:` gives. */
import { smtp } from './email/smtp.ts';
import type { Providers } from './provider.ts';
import { sandbox } from './sandbox.ts';
import { standardWebhooks } from './webhook/standard-webhooks.ts';

export const providers: Providers = {
  smtp,
  'standard-webhooks': standardWebhooks,
  sandbox,
};
