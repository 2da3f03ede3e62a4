/** How users of a schedule are shown. */
import type { OnCall } from '../../api-types.ts';
import { texts } from '../../texts/schedules.ts';

type Person = OnCall['users'][number];

export function nameOf({ username, first_name, last_name, state }: Person): string {
  const name = `${first_name} ${last_name}`.trim() || username;
  return state === 'active' ? name : texts.person(name, state === 'locked' ? texts.locked : texts.missing);
}

export function namesOf(users: readonly Person[]): string {
  return users.length === 0 ? texts.noOne : users.map(nameOf).join(', ');
}
