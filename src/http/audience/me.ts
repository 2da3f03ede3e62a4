import { Type } from 'typebox';
import * as me from '../../services/audience/me.ts';
import { TestResult } from '../configuration/channels.ts';
import { endpoints } from '../server/route.ts';
import { nullable } from '../server/schemas.ts';
import { PushSubscription } from './inbox-push.ts';

const { plain } = endpoints('On call');

export const retrieveMe = plain(['org'], {
  id: 'retrieveMe',
  summary: 'Retrieve own user',
  description: 'The user whose username is the email of the signed-in account, whatever its case.',
  answer: Type.Object(
    {
      username: nullable(Type.String(), 'Null: there is no such user in the organization.'),
      locked: Type.Boolean({ description: 'A locked user is not notified.' }),
      public_key: nullable(
        Type.String(),
        'For `applicationServerKey` when a browser subscribes. Null: the organization has no enabled web push channel.',
      ),
    },
    { $id: 'Me' },
  ),
  handle: ({ deps, organization, caller }) => me.getMe(deps, organization, caller.name),
});

export const registerOwnBrowser = plain(['org'], {
  id: 'registerOwnBrowser',
  summary: 'Register own browser for web push',
  description:
    'Takes the result of `PushSubscription.toJSON()` and adds it to your own user as a `webpush` address. Registering it again ' +
    'changes nothing, and enables it if it was disabled. If it was registered by another user, it is removed from that user.',
  problems: [409, 429],
  body: PushSubscription,
  answer: Type.Object({ registered: Type.Boolean() }, { $id: 'OwnBrowserRegistered' }),
  handle: async ({ deps, organization, caller, body }) => {
    await me.registerBrowser(deps, organization, caller.name, body);
    return { registered: true };
  },
});

export const unregisterOwnBrowser = plain(['org'], {
  id: 'unregisterOwnBrowser',
  summary: 'Unregister own browser from web push',
  description: 'Removes the browser from your own user.',
  problems: [409],
  body: PushSubscription,
  answer: Type.Object({ registered: Type.Boolean() }, { $id: 'OwnBrowserUnregistered' }),
  handle: async ({ deps, organization, caller, body }) => {
    await me.unregisterBrowser(deps, organization, caller.name, body);
    return { registered: false };
  },
});

export const testOwnBrowser = plain(['org'], {
  id: 'testOwnBrowser',
  summary: 'Send test message to own browser',
  description: 'Sends a message at once to a browser that is registered for your own user.',
  problems: [409, 429],
  body: PushSubscription,
  answer: TestResult,
  handle: ({ deps, organization, caller, body }) => me.testBrowser(deps, organization, caller.name, body),
});
