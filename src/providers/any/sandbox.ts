import { type Provider, settings } from '../provider.ts';
import { stateless } from '../sending.ts';

const Settings = settings({});
/** For seeing what a failure looks like. */
const isRefused = /^bounce@/i;

/**
 * For trying things out: nothing is sent. The engine stores the render snapshot of each delivery, so there is nothing to
 * do here, and sending twice is the same as sending once.
 */
export const sandbox: Provider<typeof Settings> = {
  name: 'sandbox',
  title: 'Sandbox',
  medium: 'any',
  summary: 'Keeps messages for viewing instead of sending them.',
  settings: Settings,
  dedupes: true,
  // So that messages look as they would with another provider; the console shows the files.
  attaches: true,
  reads: 'text',
  reach: () => 'recipient',
  open: () =>
    stateless(async ({ id, address }) =>
      isRefused.test(address)
        ? { ok: false, retry: false, reason: 'the sandbox refuses addresses that start with bounce@' }
        : { ok: true, id },
    ),
};
