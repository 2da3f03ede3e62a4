/** Which rules a schedule has to follow that its schema cannot express. */
import { isTimezone, notATimezone } from '../decision/quiet-hours.ts';
import { isObject } from '../json.ts';
import { fold } from '../text/text.ts';
import { type Layer, parseLocalTime } from './rotation.ts';

export const scheduleLimits = {
  /** Schedules of a project. */
  schedules: 1_000,
  /** Usernames in all layers of a schedule, each time that they are named. */
  users: 2_000,
  /** How many changes of the users ahead recipients can be. */
  offset: 10,
} as const;

type Report = (at: string, message: string) => void;

/** Reports mistakes; `visitUser` is called for each username with its path. Fields of the wrong type are skipped. */
export function checkSchedule(
  { timezone, layers }: { [field: string]: unknown },
  report: Report,
  visitUser: (username: string, at: string) => void,
): void {
  if (typeof timezone === 'string' && !isTimezone(timezone)) report('timezone', notATimezone);
  const names = new Set<unknown>();
  let users = 0;
  for (const [i, layer] of (Array.isArray(layers) ? layers : []).entries()) {
    if (!isObject(layer)) continue;
    const at = `layers/${i}`;
    if (names.has(layer.name)) report(`${at}/name`, `${JSON.stringify(layer.name)} is the name of another layer`);
    names.add(layer.name);
    checkTimes(layer, at, report);
    for (const [path, turn] of turnsOf(layer, at)) {
      const seen = new Set<string>();
      for (const [username, path2] of turn.map((one, n) => [one, turn.length > 1 ? `${path}/${n}` : path] as const)) {
        if (seen.has(fold(username))) report(path2, `${JSON.stringify(username)} is listed twice`);
        else visitUser(username, path2);
        seen.add(fold(username));
        users++;
      }
    }
  }
  if (users > scheduleLimits.users) report('layers', `name ${users} users: the maximum is ${scheduleLimits.users}`);
}

function turnsOf({ users }: { [field: string]: unknown }, at: string): [path: string, usernames: string[]][] {
  if (!Array.isArray(users)) return [];
  return users.map((turn, n) => [
    `${at}/users/${n}`,
    (Array.isArray(turn) ? turn : [turn]).filter(one => typeof one === 'string'),
  ]);
}

function checkTimes({ from, until, only }: { [field: string]: unknown }, at: string, report: Report): void {
  const read = (text: unknown) => (isText(text) ? parseLocalTime(text) : undefined);
  for (const [field, text] of Object.entries({ from, until })) {
    if (isText(text) && read(text) === undefined) report(`${at}/${field}`, 'is not a date that exists');
  }
  const [begin, end] = [read(from), read(until)];
  if (begin !== undefined && end !== undefined && end <= begin) report(`${at}/until`, 'must be after from');
  for (const [i, window] of (Array.isArray(only) ? only : []).entries()) {
    if (isObject(window) && window.from === '24:00')
      report(`${at}/only/${i}/from`, 'must be before 24:00: write 00:00');
  }
}

/** Whether it has the form of a local time; the schema reports any other. */
const isText = (value: unknown): value is string =>
  typeof value === 'string' && /^\d{4}-\d\d-\d\dT\d\d:\d\d$/.test(value);

/** Returns the layers with usernames as they are stored. */
export function foldLayers(layers: readonly Layer[]): Layer[] {
  return layers.map(layer => ({
    ...layer,
    users: layer.users.map(turn => (typeof turn === 'string' ? fold(turn) : turn.map(fold))),
  }));
}
