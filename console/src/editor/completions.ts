/** Completions for templates: available variables, tags and filters. */
import type { Completion, CompletionContext, CompletionResult } from '@codemirror/autocomplete';
import { templateFilters, templateTags } from '../api-types.ts';
import { texts } from '../texts/designer.ts';

/** Every variable available to a template, with the sample's values. */
export type Scope = Record<string, unknown>;

const maxLookBehind = 2_000;

export function completeFrom(getScope: () => Scope) {
  return ({ state, pos, explicit }: CompletionContext): CompletionResult | null => {
    const before = state.sliceDoc(Math.max(0, pos - maxLookBehind), pos);
    const inside = /(\{\{|\{%)(?:(?!\}\}|%\}).)*$/s.exec(before)?.[0];
    if (inside === undefined) return null;
    const tag = /^\{%-?\s*([a-z]*)$/.exec(inside);
    if (tag)
      return offer(
        pos - tag[1]!.length,
        templateTags.map(label => ({ label, type: 'keyword' })),
      );
    const filter = /\|\s*([a-z_0-9]*)$/.exec(inside);
    if (filter)
      return offer(
        pos - filter[1]!.length,
        templateFilters.map(label => ({ label, type: 'function' })),
      );
    // No variables are completed inside quotes.
    if (((inside.match(/["']/g) ?? []).length & 1) === 1) return null;
    const path = /[\w.-]*$/.exec(inside)![0];
    if (path === '' && !explicit && !/\{\{-?\s*$/.test(inside)) return null;
    const above = path.split('.').slice(0, -1);
    const found = above.reduce<unknown>((value, key) => (isObject(value) ? value[key] : undefined), getScope());
    return isObject(found) ? offer(pos - (path.length - path.lastIndexOf('.') - 1), variables(found)) : null;
  };
}

function offer(from: number, options: Completion[]): CompletionResult {
  return { from, options, validFor: /^[\w-]*$/ };
}

function variables(scope: Scope): Completion[] {
  return Object.entries(scope)
    .filter(([name]) => /^[\w-]+$/.test(name))
    .map(([label, value]) => ({ label, type: 'variable', detail: detailOf(value) }));
}

function detailOf(value: unknown): string {
  if (Array.isArray(value)) return texts.items(value.length);
  if (isObject(value)) return '…';
  const text = String(value ?? '');
  return text.length > 24 ? `${text.slice(0, 23)}…` : text;
}

function isObject(value: unknown): value is Scope {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
