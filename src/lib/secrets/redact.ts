/** Personal data and secrets that a text may contain, as errors quote their input. */
const rules: [pattern: RegExp, replacement: string][] = [
  // Credentials, then the path and query of a URL, where links and webhooks have tokens. The host stays.
  [/\b([a-z][a-z0-9+.-]*:\/\/)[^\s/?#@"'<>]+@/gi, '$1…@'],
  [/\b(https?:\/\/[^\s/?#"'<>]+)[/?#][^\s"'<>]*/gi, '$1/…'],
  [/\b(?:bf_[0-9A-Za-z]+_[0-9A-Za-z]+|bfr\.[\w.-]+|whsec_[\w+/=-]+)/g, '[secret]'],
  [/[^\s<>"'`(),;:=\\/]+(?:@|%40)[^\s<>"'`(),;:\\/]+/gi, '[address]'],
  [/\+\d{7,15}\b/g, '[phone]'],
];

/** Returns the text without email addresses, phone numbers, keys and tokens. */
export function redact(text: string): string {
  return rules.reduce((cleaned, [pattern, replacement]) => cleaned.replace(pattern, replacement), text);
}
