/** Turns a user agent into a readable name such as "Firefox on Windows". */

const browsers: [RegExp, string][] = [
  [/\bEdg(e|A|iOS)?\//, 'Edge'],
  [/\bOPR\//, 'Opera'],
  [/\b(Firefox|FxiOS)\//, 'Firefox'],
  [/\b(Chrome|CriOS|Chromium|HeadlessChrome)\//, 'Chrome'],
  [/\bVersion\/\S+ .*Safari\//, 'Safari'],
];
const systems: [RegExp, string][] = [
  [/\biPhone\b/, 'iPhone'],
  [/\biPad\b/, 'iPad'],
  [/\bAndroid\b/, 'Android'],
  [/\bWindows\b/, 'Windows'],
  [/\bMac OS X\b/, 'macOS'],
  [/\bCrOS\b/, 'ChromeOS'],
  [/\bLinux\b/, 'Linux'],
];

const find = (patterns: [RegExp, string][], text: string) => patterns.find(([pattern]) => pattern.test(text))?.[1];

export function deviceName(userAgent: string | null): string {
  if (!userAgent) return 'Unknown device';
  const [browser, system] = [find(browsers, userAgent), find(systems, userAgent)];
  if (browser && system) return `${browser} on ${system}`;
  // Not a browser but a program, such as curl/8.5.0.
  return browser ?? system ?? userAgent.split(/[/\s]/)[0] ?? 'Unknown device';
}

/** Recent iPads call themselves Macs, which have no touch screen. */
export function isAppleTouch(userAgent: string, touchPoints: number): boolean {
  return /\b(iPhone|iPad)\b/.test(userAgent) || (/\bMacintosh\b/.test(userAgent) && touchPoints > 1);
}

export function isPhone(userAgent: string | null): boolean {
  return /\b(iPhone|iPad|Android|Mobile)\b/.test(userAgent ?? '');
}
