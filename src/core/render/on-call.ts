/** Who is on call, as templates see it: `{{ oncall.primary }}` prints names, and its fields say more. */
import { isObject } from '../json.ts';

export interface OnCallPerson {
  /** First and last name, or the username of a user without. */
  name: string;
  username: string;
  first_name: string;
  last_name: string;
}

/** Plain JSON, as it is part of the render snapshot. */
export interface OnCallVariable {
  /** The name of the schedule. */
  name: string;
  /** Empty: no one. */
  users: OnCallPerson[];
  /** When the users change; null if they do not in the foreseeable time. */
  until: string | null;
  /** Who is on call after them. */
  next: { from: string; users: OnCallPerson[] } | null;
}

/** Schedules that one message can name. */
const maxSchedules = 20;
/** In JSON, quotes are escaped. */
const mention = /\boncall\s*(?:\.\s*([a-z0-9][\w-]*)|\[\s*\\?["']([a-z0-9][\w-]*)\\?["']\s*\])/g;

/** Returns the slugs of the schedules that templates name. */
export function findMentionedSchedules(source: string): string[] {
  if (!source.includes('oncall')) return [];
  const slugs = [...source.matchAll(mention)].map(([, plain, quoted]) => (plain ?? quoted)!);
  return [...new Set(slugs)].slice(0, maxSchedules);
}

/** An object that a template prints as the names of its users. */
export class PrintedUsers {
  constructor(fields: object) {
    Object.assign(this, fields);
  }

  toString(): string {
    const { users } = this as { users?: unknown };
    const names = Array.isArray(users) ? users.map(user => (isObject(user) ? String(user.name ?? '') : '')) : [];
    return names.filter(name => name !== '').join(', ');
  }
}

/** Returns the scope with schedules that print their users. It is plain JSON until then, because threads render, too. */
export function withPrintedUsers(scope: Record<string, unknown>): Record<string, unknown> {
  const { oncall } = scope;
  if (!isObject(oncall)) return scope;
  const printed = Object.entries(oncall).map(([slug, value]) => [
    slug,
    isObject(value) && Array.isArray(value.users) ? print(value) : value,
  ]);
  return { ...scope, oncall: Object.fromEntries(printed) };
}

function print(value: Record<string, unknown>): PrintedUsers {
  return new PrintedUsers({ ...value, next: isObject(value.next) ? new PrintedUsers(value.next) : value.next });
}
