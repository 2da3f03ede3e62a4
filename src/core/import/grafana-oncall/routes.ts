/** Conditions of routes. Common forms are translated; a wrong translation would wake the wrong person, so all others are not. */
import type { SourceEntry } from '../imported.ts';
import type { OnCallRoute } from './resources.ts';

/** Returns the condition in JMESPath; undefined if it cannot be translated. */
export function toCondition(
  route: Pick<OnCallRoute, 'routing_type' | 'routing_regex'>,
  use: SourceEntry['use'],
): string | undefined {
  const text = route.routing_regex?.trim() ?? '';
  if (route.routing_type === 'jinja2') return fromTemplate(text, use);
  return route.routing_type === 'regex' || !route.routing_type ? fromPattern(text, use) : undefined;
}

/** A field with a value, such as `"severity": "critical"`: OnCall searches the payload as text. */
function fromPattern(pattern: string, use: SourceEntry['use']): string | undefined {
  const [, field, values] =
    /^\.*\*?"?([A-Za-z_]\w*)"?\\?'?:(?:\\s[*+]|\s)*"?\(?([\w|-]+)\)?"?\.?\*?$/.exec(pattern) ?? [];
  if (!field || !values || !isSplit(use)) return undefined;
  const options = values.split('|');
  if (options.some(option => option === '')) return undefined;
  return options.map(option => `labels.${field} == '${option}'`).join(' || ');
}

/** Comparisons of fields with texts, joined by `and` or by `or`. */
function fromTemplate(template: string, use: SourceEntry['use']): string | undefined {
  const [, inner] = /^\{\{\s*([^{}]*?)\s*\}\}$/s.exec(template) ?? [];
  if (!inner || (/\sand\s/.test(inner) && /\sor\s/.test(inner))) return undefined;
  const isAny = /\sor\s/.test(inner);
  const parts = inner.split(/\s(?:and|or)\s/).map(part => toComparison(part.trim(), use));
  return parts.includes(undefined) ? undefined : parts.join(isAny ? ' || ' : ' && ');
}

function toComparison(text: string, use: SourceEntry['use']): string | undefined {
  const form =
    /^payload((?:\.[A-Za-z_]\w*|\[(?:\d+|"\w+"|'\w+')\]|\.get\((?:"\w+"|'\w+')\))+)\s*(==|!=)\s*(?:"([^"'\\$]*)"|'([^"'\\$]*)')$/;
  const [, path, operator, double, single] = form.exec(text) ?? [];
  if (path === undefined) return undefined;
  const names = [...path.matchAll(/\w+/g)].map(([name]) => name).filter(name => name !== 'get');
  const field = fieldOf(names, use);
  return field && `${field} ${operator} '${double ?? single}'`;
}

/** Fields of a payload that conditions see in the form of the alert. */
const replaced = new Set(['source', 'key', 'state', 'title', 'severity', 'time']);

/** Returns where the field of a payload is in an alert. */
function fieldOf(names: string[], use: SourceEntry['use']): string | undefined {
  if (!isSplit(use)) {
    if (use === 'formatted') return `payload.${names.join('.')}`;
    return use === undefined && !replaced.has(names[0]!) ? names.join('.') : undefined;
  }
  const path = names[0] === 'alerts' && /^\d+$/.test(names[1] ?? '') ? names.slice(2) : names;
  const [group, name, ...more] = path;
  if (!group || !name || more.length > 0) return undefined;
  if (group === 'groupLabels') return `group_labels.${name}`;
  if (/^(commonLabels|labels)$/.test(group)) return `labels.${name}`;
  return /^(commonAnnotations|annotations)$/.test(group) ? `annotations.${name}` : undefined;
}

/** Whether a payload is split into alerts that have labels. */
const isSplit = (use: SourceEntry['use']) => use === 'alertmanager' || use === 'grafana';
