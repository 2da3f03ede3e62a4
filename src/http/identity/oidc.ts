/** Redirects of the browser to the identity provider and back. */
import { type TSchema, Type } from 'typebox';
import { AppError } from '../../core/errors.ts';
import { consolePathOf } from '../../core/identity/console-path.ts';
import { optionalBoolean, optionalString } from '../../core/optional.ts';
import * as oidc from '../../services/identity/sign-in/oidc.ts';
import { currentSession, readCookie, setCookie, setSession, visitorOf } from '../server/cookie.ts';
import { type Call, endpoints } from '../server/route.ts';

const { plain } = endpoints('Session');

const cookie = { name: 'belfry_oidc', path: '/api/session/oidc/' };
const callback = '/api/session/oidc/callback/';

/** Redirects have no body. */
const nothing: TSchema = Type.Null();

/**
 * Redirects to the URL that `target` returns, or to the sign-in page with the error code, because a user is watching. The
 * sign-in page continues to `to`.
 */
async function redirect(call: Call, to: string, target: () => Promise<string>): Promise<never> {
  let url: string;
  try {
    url = await target();
  } catch (error) {
    if (!(error instanceof AppError) || !error.code.startsWith('oidc.')) throw error;
    call.request.log.warn({ err: error, request_id: call.request.id }, 'sign-in with the identity provider refused');
    url = `/sign-in?error=${error.code}${to === '/' ? '' : `&to=${encodeURIComponent(to)}`}`;
  }
  return call.reply.redirect(url) as never;
}

export const beginOidc = plain([], {
  id: 'beginOidc',
  summary: 'Sign in with the identity provider',
  description: 'Redirects to the identity provider. 404 if none is configured.',
  status: 302,
  problems: [404],
  query: Type.Object({
    to: optionalString({
      maxLength: 4_096,
      description: 'The path of the console to open afterwards. Others are ignored.',
    }),
    confirm: optionalBoolean({
      description:
        'Confirms the identity of the signed-in user, as `POST /api/session/confirm/` does with a password: the identity ' +
        'provider asks for the credentials again.',
    }),
  }),
  answer: nothing,
  handle: call => {
    const { deps, request, link } = call;
    const to = consolePathOf(call.query.to);
    return redirect(call, to, async () => {
      const confirming = call.query.confirm ? await currentSession(deps, request) : undefined;
      const { url, sealed } = await oidc.beginOidc(deps, link(callback), { to, confirming });
      setCookie(call, { ...cookie, value: sealed, seconds: oidc.oidcSeconds });
      return url;
    });
  },
});

export const finishOidc = plain([], {
  id: 'finishOidc',
  summary: 'Return from the identity provider',
  description:
    'Redirects to the console, or to `/sign-in?error=` with an error code. Only users with an account or an invite can sign in.',
  status: 302,
  problems: [400, 404],
  answer: nothing,
  handle: call => {
    const { deps, request, link } = call;
    const begun = oidc.openOidc(deps, readCookie(request, cookie.name));
    const to = begun?.to ?? '/';
    return redirect(call, to, async () => {
      const answered = URL.parse(link(callback) + (/\?.*/.exec(request.url)?.[0] ?? ''));
      if (!answered) throw new AppError('request.malformed', 'the Host header is not valid');
      const session = begun?.confirms && (await currentSession(deps, request));
      const opened = await oidc.finishOidc(deps, answered, begun, visitorOf(request), session);
      setCookie(call, { ...cookie, value: '', seconds: 0 });
      if (opened) setSession(call, opened);
      return to;
    });
  },
});
