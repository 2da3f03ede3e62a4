/**
 * What a recipient can do with an in-app message: up to three buttons, each with a link, an event or an
 * acknowledgement.
 */
import { type Static, Type } from 'typebox';
import { AppError } from './errors.ts';
import { limits, slugPattern } from './text.ts';

export const actionLimits = { actions: 3, label: 200, url: 2_048 };

const Slug = Type.String({
  maxLength: limits.slug,
  pattern: slugPattern,
  patternHint: 'must be lower-case letters and digits, with single dashes or underscores between them',
});

export const ActionEntry = Type.Object(
  {
    name: Slug,
    label: Type.String({
      minLength: 1,
      maxLength: actionLimits.label,
      description: 'What the button says. A template.',
    }),
    url: Type.Optional(
      Type.String({ minLength: 1, maxLength: actionLimits.url, description: 'Where it leads. A template.' }),
    ),
    event: Type.Optional(
      Type.String({ ...Slug, description: 'Slug of an event of the same application, triggered when it is taken.' }),
    ),
    acknowledge: Type.Optional(
      Type.Literal(true, { description: 'Acknowledges the occurrence, which ends its later steps.' }),
    ),
  },
  { additionalProperties: false },
);
export type ActionEntry = Static<typeof ActionEntry>;

export const Avatar = Type.String({
  minLength: 1,
  maxLength: actionLimits.url,
  description: 'Address of a picture, in the inbox. A template.',
});

export const Actions = Type.Array(ActionEntry, {
  maxItems: actionLimits.actions,
  description: 'Buttons, in the inbox. Each has one of url, event and acknowledge.',
});

/** What is wrong with them beyond their form, and where. */
export function findActionMistakes(actions: readonly Partial<ActionEntry>[]): { at: string; message: string }[] {
  const mistakes: { at: string; message: string }[] = [];
  for (const [i, { name, url, event, acknowledge }] of actions.entries()) {
    if ([url, event, acknowledge].filter(one => one !== undefined).length !== 1) {
      mistakes.push({ at: `${i}`, message: 'must have one of url, event and acknowledge' });
    }
    if (actions.findIndex(other => other.name === name) < i) {
      mistakes.push({ at: `${i}/name`, message: `is there twice: ${name}` });
    }
  }
  return mistakes;
}

/** A rendered address: no other scheme than http gets to a page, whatever the context held. */
export function requireWebAddress(text: string, field: string): string {
  const isRelative = /^\/(?![/\\])/.test(text);
  const parsed = isRelative || !URL.canParse(text) ? undefined : new URL(text);
  const isWeb = isRelative || parsed?.protocol === 'https:' || parsed?.protocol === 'http:';
  if (isWeb && text.length <= actionLimits.url) return text;
  const told = `must be an http or https address, or a path that starts with /, of at most ${actionLimits.url} characters`;
  throw new AppError('template.failed', `${field}: ${told}`, { fields: { [field]: [told] } });
}
