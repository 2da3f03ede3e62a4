/** Names and normalization of language tags. */
const names = new Intl.DisplayNames('en', { type: 'language' });

export function languageName(locale: string): string {
  return names.of(locale) ?? locale;
}

/** `pt-br` becomes `pt-BR`; undefined if it is not a language tag. */
export function canonicalLocale(tag: string): string | undefined {
  try {
    return Intl.getCanonicalLocales(tag.trim())[0];
  } catch {
    return undefined;
  }
}
