import { type Provider, settings } from '../provider.ts';
import { stateless } from '../sending.ts';

const Settings = settings({});

/**
 * Messages that a recipient reads in the application itself. The engine stores them under the id of their delivery, and
 * storing is sending: nobody is called, and nothing can arrive twice. Whoever sends outside of the engine hears yes.
 */
export const inbox: Provider<typeof Settings> = {
  name: 'inbox',
  title: 'Inbox',
  medium: 'inbox',
  summary: 'Messages inside your own application.',
  settings: Settings,
  dedupes: true,
  reach: () => 'recipient',
  open: () => stateless(async ({ id }) => ({ ok: true, id })),
};
