import { type Provider, settings } from '../provider.ts';
import { stateless } from '../sending.ts';

const Settings = settings({});

/**
 * Messages that a recipient reads in the application itself. The delivery's own row is the message in the inbox: it is
 * there before a sender is asked, so delivering is saying yes. Nothing is called, and nothing can arrive twice.
 */
export const inbox: Provider<typeof Settings> = {
  name: 'inbox',
  medium: 'inbox',
  summary: 'Messages inside your own application, read through the API.',
  settings: Settings,
  dedupes: true,
  reach: () => 'recipient',
  open: () => stateless(async ({ id }) => ({ ok: true, id })),
};
