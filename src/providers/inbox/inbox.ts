import { type Provider, settings } from '../provider.ts';
import { stateless } from '../sending.ts';

const Settings = settings({});

/**
 * Messages that a recipient reads in the application itself. The engine puts them into the inbox, each under the id of
 * its delivery, so delivering is saying yes: nothing is called, and nothing can arrive twice.
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
