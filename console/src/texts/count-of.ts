const number = new Intl.NumberFormat('en');
const compact = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 });

/** Returns the plural of a noun: `delivery` becomes `deliveries`. */
export function pluralOf(noun: string): string {
  return `${noun.replace(/([^aeiou])y$/, '$1ie').replace(/(s|x|ch|sh)$/, '$1e')}s`;
}

interface CountOptions {
  /** Shortens large numbers: 12.3K. */
  isCompact?: boolean;
  /** There may be more: 1,000+. */
  isAtLeast?: boolean;
}

/** Returns a number with its noun: "1 message", "2,000 deliveries". Every counted noun in a text is written by this. */
export function countOf(n: number, noun: string, { isCompact = false, isAtLeast = false }: CountOptions = {}): string {
  const shown = (isCompact && n >= 10_000 ? compact : number).format(n);
  return `${shown}${isAtLeast ? '+' : ''} ${n === 1 && !isAtLeast ? noun : pluralOf(noun)}`;
}
