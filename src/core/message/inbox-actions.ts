/**
 * Actions of a message in the inbox, on a device or in a chat: up to three buttons. Each opens a link, triggers an event
 * or acknowledges the occurrence.
 */
import { type Static, Type } from 'typebox';
import { Slug } from '../configuration/nouns/schemas.ts';
import { AppError } from '../errors.ts';
import { optionalString } from '../optional.ts';

const actionLimits = { actions: 3, label: 200, url: 2_048 };

export const ActionEntry = Type.Object(
  {
    name: Slug,
    label: Type.String({
      minLength: 1,
      maxLength: actionLimits.label,
      description: 'Label of the button. A template.',
    }),
    url: optionalString({
      minLength: 1,
      maxLength: actionLimits.url,
      description: 'Address that the button opens. A template.',
    }),
    event: optionalString({
      ...Slug,
      description: 'Slug of an event of the same application. It is triggered when the recipient takes the action.',
    }),
    acknowledge: Type.Optional(
      Type.Literal(true, { description: 'Acknowledges the occurrence, which cancels its remaining steps.' }),
    ),
  },
  { additionalProperties: false },
);
export type ActionEntry = Static<typeof ActionEntry>;

export const Avatar = Type.String({
  minLength: 1,
  maxLength: actionLimits.url,
  description: 'Address of a picture to show in the inbox. A template.',
});

export const Actions = Type.Array(ActionEntry, {
  maxItems: actionLimits.actions,
  description: 'Buttons to show in the inbox and in chats. Each has exactly one of url, event and acknowledge.',
});

/** Returns the mistakes that the schema cannot express; `at` is a path relative to the list. */
export function findActionMistakes(actions: readonly Partial<ActionEntry>[]): { at: string; message: string }[] {
  const mistakes: { at: string; message: string }[] = [];
  for (const [i, { name, url, event, acknowledge }] of actions.entries()) {
    if ([url, event, acknowledge].filter(one => one !== undefined).length !== 1) {
      mistakes.push({ at: `${i}`, message: 'must have exactly one of url, event and acknowledge' });
    }
    if (actions.findIndex(other => other.name === name) < i) {
      mistakes.push({ at: `${i}/name`, message: `is duplicated: ${name}` });
    }
    if (typeof url === 'string' && !canBeWebAddress(url)) mistakes.push({ at: `${i}/url`, message: notAnAddress });
  }
  return mistakes;
}

const notAnAddress = `must be an http or https address, or a path that starts with /, of at most ${actionLimits.url} characters`;

function isWebAddress(text: string): boolean {
  if (/^\/(?![/\\])/.test(text)) return true;
  return URL.canParse(text) && /^https?:$/.test(new URL(text).protocol);
}

/** Returns false if every rendering of the template would be refused, because of what is before its first tag. */
function canBeWebAddress(template: string): boolean {
  const [fixed = '', ...rest] = template.trim().split(/\{[{%]/);
  if (rest.length === 0) return isWebAddress(fixed);
  // Without one of these, the context still decides about the scheme.
  return !/[:/.]/.test(fixed) || isWebAddress(`${fixed}x`);
}

/** Checks a rendered address, so that no context can put a scheme other than http or https into a page. */
export function requireWebAddress(text: string, field: string): string {
  if (isWebAddress(text) && text.length <= actionLimits.url) return text;
  throw new AppError('template.failed', `${field}: ${notAnAddress}`, { fields: { [field]: [notAnAddress] } });
}
