/** To the identity provider and back, for a browser. */
import { type TSchema, Type } from 'typebox';
import { AppError } from '../core/errors.ts';
import * as oidc from '../services/oidc.ts';
import { readCookie, setCookie, setSession, visitorOf } from './cookie.ts';
import { type Call, plain } from './route.ts';

const tag = 'Session';
const cookie = { name: 'belfry_oidc', path: '/api/session/oidc/' };
const callback = '/api/session/oidc/callback/';

/** The browser goes on there; there is nothing to read. */
const nothing: TSchema = Type.Null();

/** A person is in front of it: what went wrong becomes a page, not a document. */
async function redirect(call: Call, where: () => Promise<string>): Promise<never> {
  let to: string;
  try {
    to = await where();
  } catch (error) {
    if (!(error instanceof AppError) || !error.code.startsWith('oidc.')) throw error;
    call.request.log.warn({ err: error, request_id: call.request.id }, 'sign-in by the identity provider refused');
    to = `/sign-in?error=${error.code}`;
  }
  return call.reply.redirect(to) as never;
}

export const beginOidc = plain([], {
  id: 'beginOidc',
  summary: 'Sign in by the identity provider',
  description: 'Leads to the provider. 404 when there is none.',
  tag,
  status: 302,
  problems: [404],
  answer: nothing,
  handle: call =>
    redirect(call, async () => {
      const { url, sealed } = await oidc.beginOidc(call.deps, call.link(callback));
      setCookie(call, { ...cookie, value: sealed, seconds: oidc.oidcSeconds });
      return url;
    }),
});

export const finishOidc = plain([], {
  id: 'finishOidc',
  summary: 'Come back from the identity provider',
  description:
    'Leads to the console, or to `/sign-in?error=` with a code. Only people who are known or invited come in.',
  tag,
  status: 302,
  problems: [400, 404],
  answer: nothing,
  handle: call =>
    redirect(call, async () => {
      const { deps, request, link } = call;
      const answered = URL.parse(link(callback) + (/\?.*/.exec(request.url)?.[0] ?? ''));
      if (!answered) throw new AppError('request.malformed', 'the Host header names no host');
      const opened = await oidc.finishOidc(deps, answered, readCookie(request, cookie.name), visitorOf(request));
      setCookie(call, { ...cookie, value: '', seconds: 0 });
      setSession(call, opened);
      return '/';
    }),
});
