import type { AddNote, ImportOptions } from '../imported.ts';
import { coverCommand, type NewOverride } from '../overrides.ts';

interface Found extends Omit<NewOverride, 'user'> {
  user: string | undefined;
}

/** Returns none if it is over, or if its user is not carried over. */
export function keepOverride(
  { user, replaces, from, until }: Found,
  id: string,
  subject: string,
  slug: string,
  { now, project, note }: ImportOptions & { note: AddNote },
): NewOverride[] {
  if (until <= now) return [];
  if (!user) {
    note(subject, `the user who takes over, ${id}, is not carried over`);
    return [];
  }
  const override = { user, replaces, from, until };
  note(subject, `enter it: ${coverCommand(`${project}/${slug}`, override)}`);
  return [override];
}
