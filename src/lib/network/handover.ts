/**
 * The last check before a message leaves the process. It belongs to the call of a provider; the code that writes the bytes, of
 * whatever protocol, asks it right before, without waiting for anything in between.
 */
import { AsyncLocalStorage } from 'node:async_hooks';

type Check = () => boolean;

const checks = new AsyncLocalStorage<Check>();
const allow: Check = () => true;

/** Runs `work`, whose requests and mails are sent only while `mayHandOver` returns true. */
export function withHandoverCheck<T>(mayHandOver: Check, work: () => T): T {
  return checks.run(mayHandOver, work);
}

/** Returns the check of the current call. Ask for it at the start: callbacks of shared connections belong to other calls. */
export function currentHandoverCheck(): Check {
  return checks.getStore() ?? allow;
}
