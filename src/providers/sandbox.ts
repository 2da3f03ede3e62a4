import { type Provider, settings } from './provider.ts';

const Settings = settings({});

export const sandbox: Provider<typeof Settings> = {
  name: 'sandbox',
  medium: 'any',
  summary: 'Keeps messages for viewing instead of sending them.',
  settings: Settings,
};
