/** Sends a response once: with the session of the account, or with the button of a push message. */
import { ApiError, api, setCsrfToken, take, UnreachableError } from '../api.ts';
import type { Answers } from '../api-types.ts';
import { clockAndDay } from '../components/clock.ts';
import { texts as common } from '../texts/common.ts';
import { texts } from '../texts/pager.ts';
import type { Outcome, StoredResponse } from './responses.ts';
import { type RegisteredBrowser, readOne } from './store.ts';

const timeoutMs = 15_000;

/** Throws if it was refused, or may be sent again. */
export function send(response: StoredResponse): Promise<Outcome> {
  return response.button ? press(response, response.button) : answer(response);
}

async function answer({ org, occurrence: identifier, action, until, account }: StoredResponse): Promise<Outcome> {
  const signal = AbortSignal.timeout(timeoutMs);
  const session = await take(api.GET('/api/session/', { signal }));
  if (session.account.email !== account) throw new ApiError(401, { detail: texts.otherAccount(account) });
  setCsrfToken(session.csrf_token);
  const params = { path: { org, identifier } };
  const answers = await take(
    action === 'snooze'
      ? api.POST('/api/o/{org}/occurrence/{identifier}/snooze/', { params, body: { until: until ?? '' }, signal })
      : action === 'resolve'
        ? api.POST('/api/o/{org}/occurrence/{identifier}/resolve/', { params, signal })
        : api.POST('/api/o/{org}/occurrence/{identifier}/acknowledge/', { params, signal }),
  );
  return { state: 'sent', text: describe(answers, account), changed: answers.changed };
}

/** Says what became of the occurrence, which others may have answered before. */
function describe(answers: Answers, account: string): string {
  const {
    changed,
    resolved_at,
    resolved_by,
    acknowledged_at,
    acknowledged_by,
    acknowledged_until,
    snoozed_by,
    missing,
  } = answers;
  if (resolved_at)
    return changed ? texts.resolvedNow : texts.resolvedBefore(resolved_by ?? texts.someone, clockAndDay(resolved_at));
  if (snoozed_by && acknowledged_until) return texts.snoozedUntil(snoozed_by, clockAndDay(acknowledged_until));
  if (!acknowledged_at) return missing.length > 0 ? texts.acknowledgedAlone(missing.join(', ')) : texts.isOver;
  if (changed || acknowledged_by === account) return texts.acknowledgedNow;
  return texts.acknowledgedBefore(acknowledged_by ?? texts.someone, clockAndDay(acknowledged_at));
}

/** Buttons need no session: Belfry has signed them for this browser, which says who it is. */
async function press({ org }: StoredResponse, { url, token }: { url: string; token: string }): Promise<Outcome> {
  const browser = await readOne<RegisteredBrowser>('browsers', org);
  const body = JSON.stringify({ token, subscription: browser?.subscription });
  const headers = { 'content-type': 'application/json' };
  // The console may be open under another name of the service.
  const { pathname } = new URL(url, location.origin);
  const sent = await fetch(pathname, { method: 'POST', headers, body, signal: AbortSignal.timeout(timeoutMs) }).catch(
    () => undefined,
  );
  if (!sent) throw new UnreachableError(common.serviceUnreachable);
  const said = (await sent.json().catch(() => ({}))) as { text?: string; detail?: string };
  if (!sent.ok) throw new ApiError(sent.status, said);
  return { state: 'sent', text: said.text ?? texts.acknowledgedNow, changed: true };
}
