/** Conditions of rules. A wrong translation would wake the wrong person, so what has no exact counterpart is not translated. */
import { lookUp } from '../../lookup.ts';
import type { OpsgenieCriteria } from './resources.ts';

type Condition = NonNullable<OpsgenieCriteria['conditions']>[number];

/** The most serious first. */
export const priorities = ['P1', 'P2', 'P3', 'P4', 'P5'] as const;
type Priority = (typeof priorities)[number];

/** Returns whether alerts of a priority match; undefined if it depends on anything else. */
export function matchesPriority(criteria: OpsgenieCriteria | undefined, priority: Priority): boolean | undefined {
  const results = (isAlways(criteria) ? [] : (criteria!.conditions ?? [])).map(condition => {
    const list = condition.field === 'priority' ? prioritiesOf(condition) : undefined;
    return list && list.includes(priority) !== (condition.not ?? false);
  });
  if (results.includes(undefined)) return undefined;
  if (isAlways(criteria)) return true;
  if (criteria!.type === 'match-any-condition') return results.includes(true);
  return criteria!.type === 'match-all-conditions' ? !results.includes(false) : undefined;
}

const isAlways = (criteria: OpsgenieCriteria | undefined) => (criteria?.type ?? 'match-all') === 'match-all';

function prioritiesOf({ operation, expectedValue }: Condition): readonly Priority[] | undefined {
  const position = (priorities as readonly string[]).indexOf(expectedValue ?? '');
  if (position < 0) return undefined;
  if (operation === 'equals') return [priorities[position]!];
  // P1 is the greatest.
  if (operation === 'greater-than') return priorities.slice(0, position);
  return operation === 'less-than' ? priorities.slice(position + 1) : undefined;
}

/** Returns a condition in JMESPath, empty if every alert matches; undefined if it cannot be translated. */
export function toCondition(criteria: OpsgenieCriteria | undefined): string | undefined {
  if (isAlways(criteria)) return '';
  const { type, conditions = [] } = criteria!;
  if (conditions.length === 0 || !/^match-(any-condition|all-conditions)$/.test(type ?? '')) return undefined;
  const parts = conditions.map(condition => {
    const part = toPart(condition);
    return part && condition.not ? `!(${part})` : part;
  });
  if (parts.includes(undefined)) return undefined;
  return parts.join(type === 'match-any-condition' ? ' || ' : ' && ');
}

/** Fields of an alert as conditions of a source see them. */
const texts: Record<string, string> = {
  message: 'title',
  alias: 'alias',
  description: 'description',
  source: 'sender',
  entity: 'entity',
};

function toPart(condition: Condition): string | undefined {
  const { field, operation, key } = condition;
  const value = quote(condition.expectedValue);
  const path = lookUp(texts, field);
  if (path) return toTextPart(path, operation, value);
  switch (field) {
    case 'priority': {
      const list = prioritiesOf(condition);
      return list && `contains([${list.map(one => `'${one}'`).join(', ')}], priority)`;
    }
    case 'tags':
    case 'actions':
      if (operation === 'is-empty') return `!${field}`;
      return operation === 'contains' && value ? `contains(not_null(${field}, \`[]\`), ${value})` : undefined;
    case 'details':
    case 'extra-properties': {
      if (key) return /^[\w.-]+$/.test(key) ? toTextPart(`details."${key}"`, operation, value) : undefined;
      const all = 'not_null(details, `{}`)';
      if (operation === 'is-empty') return '!details';
      if (operation === 'contains-key') return value && `contains(keys(${all}), ${value})`;
      return operation === 'contains-value' ? value && `contains(values(${all}), ${value})` : undefined;
    }
    case 'teams':
    case 'recipients':
    case 'responders':
      return operation === 'contains' && value ? `contains(not_null(responders[].name, \`[]\`), ${value})` : undefined;
    default:
      return undefined;
  }
}

function toTextPart(path: string, operation: string, value: string | undefined): string | undefined {
  if (operation === 'is-empty') return `!(${path})`;
  if (!value) return undefined;
  const text = `not_null(${path}, '')`;
  if (operation === 'equals') return `${path} == ${value}`;
  if (operation === 'contains') return `contains(${text}, ${value})`;
  if (operation === 'starts-with') return `starts_with(${text}, ${value})`;
  return operation === 'ends-with' ? `ends_with(${text}, ${value})` : undefined;
}

/** Returns the text in the quotes of JMESPath; undefined if it would mean anything else in the file. */
export function quote(text = ''): string | undefined {
  return text === '' || /[\\'\p{Cc}]|\$\{/u.test(text) || text.length > 500 ? undefined : `'${text}'`;
}
