/** The chat command /oncall: says who is on call, and pages the users on call or one person. */
import { hash } from 'node:crypto';
import { AppError } from '../../../core/errors.ts';
import { pageLimits } from '../../../core/oncall/page.ts';
import { fold } from '../../../core/text/text.ts';
import type { AddressOwner } from '../../../db/audience/addresses.ts';
import { listSchedules, type ScheduleRow } from '../../../db/audience/on-call/schedules.ts';
import { findUserIds } from '../../../db/audience/users.ts';
import { getOrganization } from '../../../db/configuration/organizations.ts';
import { currentTime } from '../../../lib/time/clock.ts';
import type { Command } from '../../../providers/provider.ts';
import { listOnCall, now, type OnCallView } from '../../audience/on-call/on-call.ts';
import { page } from '../../audience/on-call/page.ts';
import type { Deps } from '../../deps.ts';

/** Who wrote the command, and where. */
export interface CommandOrigin {
  organizationId: number;
  channelId: number;
  /** The project of the channel: it answers about its own schedules only. */
  projectId: number | null;
  /** Such as `in Slack`. */
  where: string;
  /** Undefined: someone whom Belfry does not know, who may ask but not page. */
  user: AddressOwner | undefined;
  /** What is said to someone who may not page. */
  unknown: string;
  findOwners: (addresses: string[]) => Promise<AddressOwner[]>;
}

const usage =
  '/oncall says who is on call, /oncall SCHEDULE for one schedule. /oncall page SCHEDULE TEXT wakes the users on call, and ' +
  '/oncall page @PERSON TEXT one person, by name in the service or email.';

const tooLong = `The text is too long, so no one was paged: ${pageLimits.message} characters at most.`;
/** With the names before the text of a page. */
const maxTextLength = pageLimits.message + 500;
const maxListed = 20;
/** Schedules that are tried for the event of a page to one person. */
const maxTried = 20;
/** A service may deliver a command hours later, when no one wants to be woken any more. */
const maxLateMs = 300_000;

/** Returns what to answer. */
export async function answerCommand(deps: Deps, origin: CommandOrigin, command: Command): Promise<string> {
  const text = command.text.trim();
  if (text.length > maxTextLength) return tooLong;
  const [, target, message] = /^page\s+(\S+)\s+(\S[\s\S]*)$/i.exec(text) ?? [];
  try {
    if (target !== undefined) return await pageFromChat(deps, origin, command, target, message!);
    if (/^(page|help)\b/i.test(text)) return usage;
    return text === '' ? await describeAll(deps, origin) : await describeNamed(deps, origin, text);
  } catch (error) {
    // The service would repeat a request that fails, and the person would see nothing.
    if (!(error instanceof AppError) || error.kind === 'internal') throw error;
    return `This could not be done: ${error.message}`;
  }
}

async function describeAll(deps: Deps, origin: CommandOrigin): Promise<string> {
  const found = await listViews(deps, origin, { page: { after: 0, limit: maxListed + 1 } });
  if (found.length === 0) return 'There are no schedules.';
  const more = found.length > maxListed ? ['There are more: /oncall SCHEDULE'] : [];
  return [...found.slice(0, maxListed).map(describe), ...more].join('\n');
}

async function describeNamed(deps: Deps, origin: CommandOrigin, name: string): Promise<string> {
  const { prj, slug } = readName(name);
  const found = (await listViews(deps, origin, { slug })).filter(({ project }) => prj === undefined || project === prj);
  return found.length === 0 ? noSchedule(name) : found.map(describe).join('\n');
}

function listViews({ db }: Deps, { organizationId, projectId }: CommandOrigin, selection: object) {
  const own = projectId === null ? {} : { project: { id: projectId } };
  return listOnCall({ db }, organizationId, { ...own, ...selection, at: now(), visible: 'all' });
}

function describe({ name, project, schedule, users, until, next, timezone, fallback }: OnCallView): string {
  const gap = fallback === null ? 'no one' : `no one, so the list ${fallback}`;
  const who = users.length === 0 ? gap : namesOf(users);
  const time = (at: Date) =>
    new Intl.DateTimeFormat('en-GB', {
      ...{ weekday: 'short', day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit' },
      timeZone: timezone,
    }).format(at);
  const end = until === null ? '' : ` until ${time(until)} (${timezone})`;
  const later = next && users.length > 0 ? `, then ${namesOf(next.users)}` : '';
  return `${name} (${project}/${schedule}): ${who}${end}${later}`;
}

function namesOf(users: OnCallView['users']): string {
  return users.map(({ username, first_name, last_name }) => `${first_name} ${last_name}`.trim() || username).join(', ');
}

async function pageFromChat(
  deps: Deps,
  origin: CommandOrigin,
  { id, writtenAt }: Command,
  target: string,
  message: string,
): Promise<string> {
  if (!origin.user) return origin.unknown;
  if (writtenAt && currentTime() - writtenAt.getTime() > maxLateMs)
    return 'This arrived more than five minutes late, so no one was paged. If it is still needed, send it again.';
  if (message.length > pageLimits.message) return tooLong;
  const organization = await getOrganization(deps.db, origin.organizationId);
  if (!organization) return noSchedule(target);
  const pageBy = (schedule: ScheduleRow, user?: string) =>
    page(
      deps,
      { organization, project: { slug: schedule.project }, schedule },
      {
        message,
        ...(user !== undefined && { user }),
        // A service repeats what was not answered in time.
        idempotency_key: `chat-${hash('sha256', JSON.stringify([origin.channelId, id]))}`,
      },
      { by: `${origin.user!.username} ${origin.where}` },
    );
  const own = origin.projectId === null ? {} : { project: { id: origin.projectId } };
  const from = now();

  if (isPerson(target)) {
    const user = await findPerson(deps, origin, target);
    if (user === undefined)
      return `Belfry knows no one by ${target}, so no one was paged: write the email of the person.`;
    const all = await listSchedules(deps.db, origin.organizationId, { ...own, from });
    let refused: AppError | undefined;
    for (const schedule of all.filter(one => one.page !== null).slice(0, maxTried)) {
      try {
        await pageBy(schedule, user);
        return `${user} is paged.`;
      } catch (error) {
        if (!(error instanceof AppError) || error.code !== 'schedule.not_pageable') throw error;
        refused ??= error;
      }
    }
    throw refused ?? new AppError('schedule.not_pageable', 'no schedule names an event with `page`');
  }

  const { prj, slug } = readName(target);
  const named = await listSchedules(deps.db, origin.organizationId, { ...own, slug, from });
  const found = named.filter(({ project }) => prj === undefined || project === prj);
  const [schedule] = found;
  if (!schedule) return noSchedule(target);
  if (found.length > 1) {
    const names = found.map(one => `${one.project}/${one.slug}`).join(', ');
    return `Several projects have this schedule, so no one was paged: write one of ${names}`;
  }
  await pageBy(schedule);
  const [view] = (await listViews(deps, origin, { slug })).filter(({ project }) => project === schedule.project);
  if (!view) return 'Paged.';
  if (view.users.length > 0 || view.fallback !== null) return `Paged. ${describe(view)}`;
  return `No one is on call, and there is no fallback list: only later steps can reach someone. ${describe(view)}`;
}

/** `project/schedule`, or the slug alone. */
function readName(name: string): { prj: string | undefined; slug: string } {
  const [first = '', second] = fold(name).split('/');
  return second === undefined ? { prj: undefined, slug: first } : { prj: first, slug: second };
}

const isPerson = (target: string) => target.includes('@');
/** As Slack, Discord and the reader of Teams write a mention: `<@U0ANN|ann>`, `<@!80351110224678912>`. */
const mention = /^<@!?([^<>|]+)(?:\|[^<>]*)?>$/;

/** Returns the username of a person who was mentioned, or named by email. */
async function findPerson(
  deps: Deps,
  { organizationId, findOwners }: CommandOrigin,
  target: string,
): Promise<string | undefined> {
  const [, address] = mention.exec(target) ?? [];
  if (address !== undefined) return (await findOwners([address]))[0]?.username;
  const username = fold(target.replace(/^@/, ''));
  return (await findUserIds(deps.db, organizationId, [username])).has(username) ? username : undefined;
}

function noSchedule(name: string): string {
  return `There is no schedule ${name}. ${usage}`;
}
