import { Type } from 'typebox';
import * as push from '../services/inbox-push.ts';
import { plain } from './route.ts';
import { closed } from './schemas.ts';

const tag = 'Inbox';

export const retrievePushKey = plain(['org', 'username'], {
  id: 'retrievePushKey',
  summary: 'Retrieve key for browser push',
  description: 'For `applicationServerKey` when a page subscribes: that of the organization’s web push channel.',
  tag,
  status: 200,
  problems: [409],
  answer: Type.Object({ public_key: Type.String() }, { $id: 'PushKey' }),
  handle: async ({ deps, organization }) => ({ public_key: await push.getPushKey(deps, organization.id) }),
});

const base64url = (description: string) =>
  Type.String({ maxLength: 200, pattern: '^[A-Za-z0-9_-]+={0,2}$', patternHint: 'must be base64url', description });

export const registerPush = plain(['org', 'username'], {
  id: 'registerPush',
  summary: 'Register browser for push',
  description: 'What `PushSubscription.toJSON()` gives. It becomes an address `webpush` of the person.',
  tag,
  status: 200,
  problems: [429],
  body: Type.Object(
    {
      endpoint: Type.String({
        maxLength: 1_500,
        pattern: '^https://[^\\s"<>]+$',
        patternHint: 'must be the https address that the browser gave',
      }),
      keys: Type.Object(
        { p256dh: base64url('Key of the browser.'), auth: base64url('Secret of the browser.') },
        closed,
      ),
    },
    { $id: 'PushSubscription', ...closed },
  ),
  answer: Type.Object({ registered: Type.Boolean() }, { $id: 'PushRegistered' }),
  handle: async ({ deps, organization, user, body }) => {
    await push.registerPush(deps, organization.id, user, body);
    return { registered: true };
  },
});
