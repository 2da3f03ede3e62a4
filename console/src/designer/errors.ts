/** Returns the API's errors for a field, and with `deep` those nested in it. */
export function errorAt(errors: Record<string, string[]>, field: string, deep = false): string | undefined {
  const found = Object.entries(errors).filter(([name]) => name === field || (deep && name.startsWith(`${field}/`)));
  const text = found.flatMap(([, messages]) => messages).join(' ');
  return text === '' ? undefined : text.charAt(0).toUpperCase() + text.slice(1);
}
