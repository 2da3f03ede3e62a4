/** Matchers as text, one per line. */
import type { Silence } from '../../api-types.ts';
import { texts } from '../../texts/silences.ts';

export type Matcher = Silence['matchers'][number];

const pattern = /^(.+?)(!=|!~|=|~)(.*)$/;

/** Returns the matchers of the lines, and the first line that is none. */
export function readMatchers(text: string): { matchers: Matcher[]; wrong: string | undefined } {
  const lines = text
    .split('\n')
    .map(line => line.trim())
    .filter(line => line !== '');
  const matchers: Matcher[] = [];
  for (const line of lines) {
    const [, field, op, value = ''] = pattern.exec(line) ?? [];
    if (field === undefined) return { matchers, wrong: line };
    matchers.push({ field: field.trim(), op: op as Matcher['op'], value });
  }
  return { matchers, wrong: undefined };
}

export const showMatcher = ({ field, op, value }: Matcher) => `${field}${op}${value}`;

export function describeMatchers({ path, matchers }: Pick<Silence, 'path' | 'matchers'>): string {
  const shown = matchers.map(showMatcher).join(', ');
  if (!path) return shown || texts.everything;
  return shown ? `${shown} · ${path}` : path;
}

/** Matchers of one occurrence: those of its labels, else its title. */
export function matchersOf({ labels, title }: Record<string, unknown>): Matcher[] {
  const own = typeof labels === 'object' && labels !== null && !Array.isArray(labels) ? Object.entries(labels) : [];
  const found = own.flatMap(([name, value]) =>
    typeof value === 'string' && !/[\r\n]/.test(value) && value.length <= 255
      ? [{ field: `labels.${name}`, op: '=' as const, value }]
      : [],
  );
  if (found.length > 0) return found.slice(0, 10);
  return typeof title === 'string' && !/[\r\n]/.test(title) && title.length <= 255
    ? [{ field: 'title', op: '=', value: title }]
    : [];
}
