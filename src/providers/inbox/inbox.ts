import { type Provider, settings } from '../provider.ts';
import { stateless } from '../sending.ts';

const Settings = settings({});

/**
 * Messages that a recipient reads inside the application. The engine stores them under the id of their delivery, so
 * nothing is sent here, and nothing can arrive twice. Sending outside of the engine always succeeds.
 */
export const inbox: Provider<typeof Settings> = {
  name: 'inbox',
  title: 'Inbox',
  medium: 'inbox',
  summary: 'Messages inside your own application.',
  settings: Settings,
  shows: ['buttons', 'images'],
  dedupes: true,
  updates: ['update', 'retract'],
  reach: () => 'recipient',
  open: () => stateless(async ({ id }) => ({ ok: true, id })),
};
