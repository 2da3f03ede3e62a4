/** Redirects of the browser to the identity provider and back. */
import { type TSchema, Type } from 'typebox';
import { AppError } from '../../core/errors.ts';
import * as oidc from '../../services/identity/oidc.ts';
import { readCookie, setCookie, setSession, visitorOf } from '../server/cookie.ts';
import { type Call, plain } from '../server/route.ts';

const tag = 'Session';
const cookie = { name: 'belfry_oidc', path: '/api/session/oidc/' };
const callback = '/api/session/oidc/callback/';

/** Redirects have no body. */
const nothing: TSchema = Type.Null();

/** Redirects to the page that `target` returns, or to the sign-in page with the error code: a user is watching. */
async function redirect(call: Call, target: () => Promise<string>): Promise<never> {
  let to: string;
  try {
    to = await target();
  } catch (error) {
    if (!(error instanceof AppError) || !error.code.startsWith('oidc.')) throw error;
    call.request.log.warn({ err: error, request_id: call.request.id }, 'sign-in with the identity provider refused');
    to = `/sign-in?error=${error.code}`;
  }
  return call.reply.redirect(to) as never;
}

export const beginOidc = plain([], {
  id: 'beginOidc',
  summary: 'Sign in with the identity provider',
  description: 'Redirects to the identity provider. 404 if none is configured.',
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
  summary: 'Return from the identity provider',
  description:
    'Redirects to the console, or to `/sign-in?error=` with an error code. Only users with an account or an invite can sign in.',
  tag,
  status: 302,
  problems: [400, 404],
  answer: nothing,
  handle: call =>
    redirect(call, async () => {
      const { deps, request, link } = call;
      const answered = URL.parse(link(callback) + (/\?.*/.exec(request.url)?.[0] ?? ''));
      if (!answered) throw new AppError('request.malformed', 'the Host header is not valid');
      const opened = await oidc.finishOidc(deps, answered, readCookie(request, cookie.name), visitorOf(request));
      setCookie(call, { ...cookie, value: '', seconds: 0 });
      setSession(call, opened);
      return '/';
    }),
});
