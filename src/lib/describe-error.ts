/** An error for the log, without what drivers hang on theirs: whole connections, with every statement they ever prepared. */
export function describeError(error: unknown): object {
  if (!(error instanceof Error)) return typeof error === 'object' && error ? error : { message: String(error) };
  const { name, message, stack, cause } = error;
  const { code } = error as NodeJS.ErrnoException;
  return { name, code, message, stack, cause: cause === undefined ? undefined : describeError(cause) };
}
