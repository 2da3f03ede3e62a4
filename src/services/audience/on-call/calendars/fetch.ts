/** Fetches a calendar of a user and finds the absences in it. */
import { calendarLimits, readCalendarUrl } from '../../../../core/oncall/calendars/calendar.ts';
import { type CalendarContent, NoCalendarError } from '../../../../core/oncall/calendars/read.ts';
import { ThreadsBusyError } from '../../../../lib/load/thread-pool.ts';
import { OutboundError, type OutboundResponse } from '../../../../lib/network/outbound.ts';
import { currentTime } from '../../../../lib/time/clock.ts';
import type { Deps } from '../../../deps.ts';

export interface CalendarRequest {
  organizationId: number;
  url: string;
  words: readonly string[];
  /** Null: UTC. */
  timezone: string | null;
  /** Of the content that is known. Null: the content is wanted in any case. */
  etag: string | null;
  last_modified: string | null;
}

export interface FetchedCalendar extends CalendarContent {
  etag: string | null;
  last_modified: string | null;
  timezone: string;
}

/** What is wrong with the address, the server or the calendar. */
export class CalendarError extends Error {}

/** The machine has no room; the calendar is not the cause. */
export class CalendarBusyError extends Error {}

/** Longer ones are no tags that a server should send. */
const maxTag = 500;

export type FetchDeps = Pick<Deps, 'outbound' | 'calendarReader' | 'calendarSlots'>;

/** Returns undefined if the calendar has not changed. Throws CalendarError, whose message has no address, or CalendarBusyError. */
export async function fetchCalendar(deps: FetchDeps, request: CalendarRequest): Promise<FetchedCalendar | undefined> {
  const { organizationId, words } = request;
  const timezone = request.timezone ?? 'UTC';
  const url = readCalendarUrl(request.url);
  if ('mistake' in url) throw new CalendarError(`the address ${url.mistake}`);
  await requireEncryption(deps, url);
  // The file is held until it was read.
  return deps.calendarSlots.run(organizationId, async signal => {
    const response = await get(deps, url, request, signal);
    if (response.status === 304 && (request.etag !== null || request.last_modified !== null)) return undefined;
    // What was received until then is cut.
    if (signal.aborted && !Buffer.isBuffer(response.file))
      throw new CalendarBusyError('given up for calendars of other organizations');
    const text = textOf(response, url.host);
    try {
      const calendar = { text, timezone, words, now: currentTime() };
      const content = await deps.calendarReader.read(organizationId, calendar);
      const { etag, 'last-modified': last_modified } = response.headers;
      return { ...content, etag: tagOf(etag), last_modified: tagOf(last_modified), timezone };
    } catch (error) {
      if (error instanceof NoCalendarError)
        throw new CalendarError(`what ${url.host} answers cannot be read: ${error.message}`);
      if (error instanceof ThreadsBusyError) throw new CalendarBusyError(error.message);
      throw error;
    }
  });
}

/** The address is a secret. Networks that the operator allows are the operator's own. */
async function requireEncryption({ outbound }: FetchDeps, { protocol, hostname, host }: URL): Promise<void> {
  if (protocol === 'https:') return;
  if (await outbound.isAllowedPrivate(hostname).catch(() => false)) return;
  throw new CalendarError(
    `the address must begin with https://: http:// is possible only for hosts in networks of BELFRY_OUTBOUND_ALLOW, unlike ${host}`,
  );
}

async function get(
  { outbound }: FetchDeps,
  url: URL,
  { etag, last_modified }: CalendarRequest,
  signal: AbortSignal,
): Promise<OutboundResponse> {
  try {
    return await outbound.request(url.href, {
      method: 'GET',
      headers: {
        accept: 'text/calendar, */*;q=0.1',
        ...(etag !== null && { 'if-none-match': etag }),
        ...(last_modified !== null && { 'if-modified-since': last_modified }),
      },
      timeoutMs: calendarLimits.fetchMs,
      maxFileBytes: calendarLimits.bytes,
      signal,
    });
  } catch (error) {
    if (!(error instanceof OutboundError)) throw error;
    if (error.kind === 'local' || signal.aborted) throw new CalendarBusyError(error.message);
    throw new CalendarError(error.message);
  }
}

function textOf({ status, file }: OutboundResponse, host: string): string {
  if (status >= 300 && status < 400) throw new CalendarError(`${host} redirects too often, or nowhere (${status})`);
  if (status !== 200) throw new CalendarError(`${host} answers with status ${status}`);
  if (file === 'too_large')
    throw new CalendarError(`the calendar on ${host} is larger than ${calendarLimits.bytes / 1024 / 1024} MiB`);
  if (!Buffer.isBuffer(file))
    throw new CalendarError(`${host} did not send the whole calendar within ${calendarLimits.fetchMs / 1_000} s`);
  return new TextDecoder().decode(file);
}

function tagOf(header: string | undefined): string | null {
  return header !== undefined && header.length <= maxTag && /^[\x20-\x7e]+$/.test(header) ? header : null;
}
