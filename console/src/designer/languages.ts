/** Languages by their tags. */
const names = new Intl.DisplayNames('en', { type: 'language' });

export function languageName(locale: string): string {
  return names.of(locale) ?? locale;
}

/** `pt-br` is `pt-BR`; undefined for what is no tag. */
export function canonicalLocale(tag: string): string | undefined {
  try {
    return Intl.getCanonicalLocales(tag.trim())[0];
  } catch {
    return undefined;
  }
}
