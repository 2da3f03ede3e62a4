import { Type } from 'typebox';
import * as push from '../../services/audience/inbox-push.ts';
import { endpoints } from '../server/route.ts';
import { closed, nullable } from '../server/schemas.ts';

const { plain } = endpoints('Inbox');

export const retrievePushKey = plain(['org', 'username'], {
  id: 'retrievePushKey',
  summary: 'Retrieve web push key',
  description:
    "The public key of the organization's web push channel, for `applicationServerKey` when a page subscribes.",
  problems: [409],
  answer: Type.Object({ public_key: Type.String() }, { $id: 'PushKey' }),
  handle: async ({ deps, organization }) => ({ public_key: await push.getPushKey(deps, organization.id) }),
});

const base64url = (description: string) =>
  Type.String({ maxLength: 200, pattern: '^[A-Za-z0-9_-]+={0,2}$', patternHint: 'must be base64url', description });

export const PushSubscription = Type.Object(
  {
    endpoint: Type.String({
      maxLength: 1_500,
      pattern: '^https://[^\\s"<>]+$',
      format: 'url',
      patternHint: 'must be the https URL of the browser subscription',
    }),
    expirationTime: Type.Optional(nullable(Type.Number(), 'Ignored: a push service says itself when it has ended.')),
    keys: Type.Object(
      { p256dh: base64url('Public key of the subscription.'), auth: base64url('Auth secret of the subscription.') },
      closed,
    ),
  },
  { $id: 'PushSubscription', ...closed },
);

export const registerPush = plain(['org', 'username'], {
  id: 'registerPush',
  summary: 'Register browser for web push',
  description: 'Takes the result of `PushSubscription.toJSON()` and adds it to the user as a `webpush` address.',
  problems: [429],
  body: PushSubscription,
  answer: Type.Object({ registered: Type.Boolean() }, { $id: 'PushRegistered' }),
  handle: async ({ deps, organization, user, body }) => {
    await push.registerPush(deps, organization.id, user, body);
    return { registered: true };
  },
});
