import { redact } from '../secrets/redact.ts';

/**
 * Describes an error for the log, without what drivers attach to theirs (whole connections, rows, parameters), and without
 * the addresses and secrets that its text may quote.
 */
export function describeError(error: unknown): object {
  if (!(error instanceof Error)) {
    if (typeof error !== 'object' || error === null) return { message: redact(String(error)) };
    const clean = ([name, value]: [string, unknown]) => [name, typeof value === 'string' ? redact(value) : value];
    return Object.fromEntries(Object.entries(error).map(clean));
  }
  const { name, message, stack, cause } = error;
  const { code } = error as NodeJS.ErrnoException;
  // PostgreSQL quotes the value that it could not read (SQLSTATE class 22).
  const quotesValue = typeof code === 'string' && /^22[0-9A-Z]{3}$/.test(code);
  const clean = (text: string) => redact(quotesValue ? text.replaceAll(/"[^"]*"/g, '"…"') : text);
  return {
    name,
    code,
    message: clean(message),
    stack: stack && clean(stack),
    cause: cause === undefined ? undefined : describeError(cause),
  };
}
