import { Type } from 'typebox';
import { platforms } from '../../core/audience/device.ts';
import * as devices from '../../services/audience/devices.ts';
import { endpoints } from '../server/route.ts';
import { closed } from '../server/schemas.ts';

const { plain } = endpoints('Inbox');

const body = Type.Object(
  {
    platform: Type.Enum([...platforms], { description: 'The platform of the device.' }),
    app: Type.String({
      maxLength: 255,
      pattern: '^[A-Za-z0-9._-]+$',
      patternHint: 'must be letters, digits, dots, dashes and underscores',
      description: 'The bundle ID or package name of the app, such as com.acme.shop.',
    }),
    token: Type.String({
      maxLength: 1_600,
      pattern: '^[A-Za-z0-9:_-]+$',
      patternHint: 'must be a device token as APNs or FCM issues it',
      description: 'The device token: of APNs in hexadecimal, or of FCM.',
    }),
  },
  { $id: 'Device', ...closed },
);

export const registerDevice = plain(['org', 'username'], {
  id: 'registerDevice',
  summary: 'Register device for push',
  description:
    'Adds the device token of an app to the user as a `push` address. Register at every start of the app, as the token may change; registering it again changes nothing, and enables it if it was disabled. If another user had registered the device, it is removed from that user.',
  problems: [429],
  body,
  answer: Type.Object({ registered: Type.Boolean() }, { $id: 'DeviceRegistered' }),
  handle: async ({ deps, organization, user, body }) => {
    await devices.registerDevice(deps, organization.id, user, body);
    return { registered: true };
  },
});

export const unregisterDevice = plain(['org', 'username'], {
  id: 'unregisterDevice',
  summary: 'Unregister device from push',
  description: 'Removes the device token from the user. Call it when the user signs out of the app.',
  body,
  answer: Type.Object({ registered: Type.Boolean() }, { $id: 'DeviceUnregistered' }),
  handle: async ({ deps, organization, user, body }) => {
    await devices.unregisterDevice(deps, organization.id, user, body);
    return { registered: false };
  },
});
