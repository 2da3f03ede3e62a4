/**
 * https://docs.slack.dev/reference/methods/chat.postMessage, as a bot. Slack answers 200 to nearly everything: the word
 * in `error` is the verdict.
 */
import { Type } from 'typebox';
import { isEmail } from '../../core/text.ts';
import { endpoint, join, TimeoutMs } from '../fields.ts';
import { type Answer, type Failure, pick, sendHttp, toReason } from '../http-outcome.ts';
import { type Provider, settings } from '../provider.ts';
import { type Outcome, stateless } from '../sending.ts';
import { toMessage } from './message.ts';

const usual = 'https://slack.com/api';

const Settings = settings({
  token: Type.String({
    secret: true,
    pattern: '^xox[a-z]-[A-Za-z0-9-]{8,256}$',
    patternHint: 'must be a token such as xoxb-…',
    description:
      'The bot token, xoxb-…, with the scope chat:write, and users:read.email where addresses are emails of people.',
  }),
  endpoint: endpoint(usual, 'that of GovSlack'),
  timeout_ms: TimeoutMs,
});

/** It passes by itself: too fast, or a workspace that is being moved. */
const passing = new Set([
  'ratelimited',
  'rate_limited',
  'service_unavailable',
  'team_added_to_org',
  'org_login_required',
]);
/** Of these Slack says that part of it may have been done. */
const unclear = new Set(['internal_error', 'fatal_error', 'request_timeout']);
/** The person or the channel has been closed. A channel that is not found may only lack an invitation. */
const gone = new Set(['is_archived', 'user_disabled', 'user_not_found']);

/** Long enough for a list of recipients, short enough for an address that moves to another account. */
const rememberMs = 60 * 60 * 1000;
const mostRemembered = 50_000;

export const slack: Provider<typeof Settings> = {
  name: 'slack',
  title: 'Slack bot',
  medium: 'slack',
  summary: 'Direct messages and channels. The address is a channel ID, a member ID or an email.',
  settings: Settings,
  dedupes: false,
  open({ token, endpoint = usual, timeout_ms }, { outbound }) {
    const call = { timeoutMs: timeout_ms, secrets: [token], words: errorOf, sort };
    const authorization = `Bearer ${token}`;
    const known = new Map<string, { found: Promise<Outcome>; until: number }>();

    /** Asked once by all who want the same person at the same time; only a yes is remembered. */
    const lookUp = (email: string): Promise<Outcome> => {
      const now = Date.now();
      const kept = known.get(email);
      if (kept && kept.until > now) return kept.found;
      if (known.size >= mostRemembered) known.clear();
      const found = sendHttp(outbound, {
        ...call,
        method: 'GET',
        url: join(endpoint, `/users.lookupByEmail?email=${encodeURIComponent(email)}`),
        headers: { authorization },
        id: ({ json }) => pick(json, 'user', 'id'),
      });
      known.set(email, { found, until: now + rememberMs });
      const forget = () => known.delete(email);
      found.then(outcome => (outcome.ok && outcome.id ? undefined : forget()), forget);
      return found;
    };

    const send = (channel: string, message: object): Promise<Outcome> =>
      sendHttp(outbound, {
        ...call,
        url: join(endpoint, '/chat.postMessage'),
        headers: { authorization, 'content-type': 'application/json; charset=utf-8' },
        body: JSON.stringify({ channel, ...message }),
        id: ({ json }) => pick(json, 'ts'),
      });

    return stateless(async ({ address, content }) => {
      if (!isEmail(address)) return send(address, toMessage(content));
      const person = await lookUp(address);
      if (person.ok) {
        return person.id
          ? send(person.id, toMessage(content))
          : { ok: false, retry: true, reason: 'Slack named no one' };
      }
      // Looking somebody up sends nothing, whatever became of the answer; and who is not there today may be tomorrow.
      const { unknown: _, gone: __, ...failure } = person;
      return { ...failure, reason: toReason(`looking up ${address}: ${failure.reason}`) };
    });
  },
};

function errorOf({ json }: Answer): string | undefined {
  return pick(json, 'error');
}

function sort(answer: Answer): { ok: true } | Partial<Failure> | undefined {
  const error = errorOf(answer);
  if (error === undefined) {
    if (answer.status >= 300 || (answer.json as { ok?: unknown } | undefined)?.ok === true) return undefined;
    return { retry: true, unknown: true, reason: 'an answer that cannot be read' };
  }
  if (passing.has(error)) return { retry: true };
  if (unclear.has(error)) return { retry: true, unknown: true };
  return gone.has(error) ? { retry: false, gone: true } : { retry: false };
}
