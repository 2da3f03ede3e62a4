/**
 * The hosted preference page and one-click unsubscribe (RFC 8058), behind the links in messages. They need no account, no
 * cookie and no script: the token in the URL authenticates. Only POST changes anything, because link scanners follow links.
 */
import { randomBytes } from 'node:crypto';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { weekdays } from '../../core/decision/quiet-hours.ts';
import { AppError, invalid } from '../../core/errors.ts';
import { anonymous } from '../../core/identity/actor.ts';
import { logoOriginOf } from '../../core/render/logo-url.ts';
import { readOwnAbsences } from '../../services/audience/on-call/own-absences.ts';
import {
  describeCategory,
  findLinkHolder,
  findUnsubscribeLink,
  type LinkedUser,
  type PageChoice,
  type PageQuietHours,
  preferencesPath,
  readPage,
  sampleToken,
  savePage,
  switchAllOff,
  unsubscribe,
  verifyAddress,
} from '../../services/audience/preference-page.ts';
import type { Deps } from '../../services/deps.ts';
import { absenceOutcomes, changeAbsences, isAbsenceAction } from './absence-form.ts';
import { type CodeOutcome, codeOutcomes } from './address-form.ts';
import {
  brokenPage,
  type Frame,
  type PageState,
  preferencePage,
  unsubscribedPage,
  unsubscribePage,
  writeHours,
  writeQuietState,
} from './preference-html.ts';
import { chooseLanguage, textsIn } from './preference-texts.ts';
import { readReachForm } from './reach-form.ts';

/** Fits a form with a hundred categories and a dozen channel types. */
const bodyLimit = 256 * 1024;

type TokenRequest = FastifyRequest<{ Params: { token: string } }>;
type PageRequest = FastifyRequest<{
  Params: { token: string };
  Querystring: { saved?: string; wrong?: string; code?: string; absence?: string };
}>;

export async function registerPreferencePage(app: FastifyInstance, deps: Deps): Promise<void> {
  await app.register(async scope => {
    // Mail providers send forms, URL-encoded or multipart; the content of an unsubscribe request is ignored.
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser('*', { parseAs: 'string', bodyLimit }, (_request, text, done) => done(null, text));
    const hidden = { schema: { hide: true }, bodyLimit };
    const showPage = async (request: PageRequest, reply: FastifyReply, user: LinkedUser, state: PageState) => {
      const frame = frameOf(request, user);
      const [shown, absences] = await Promise.all([
        readPage(deps, user, user.locale ?? frame.language),
        readOwnAbsences(deps, user),
      ]);
      return sendPage(reply, frame, preferencePage(frame, user, { ...shown, absences }, state));
    };
    scope.get('/preferences/:token', hidden, async (request: PageRequest, reply) => {
      const user = await findLinkHolder(deps, request.params.token);
      if (!user) return sendBroken(request, reply);
      const { saved, wrong, code, absence } = request.query;
      return showPage(request, reply, user, {
        saved: saved === '1',
        wrong: wrong === 'reach' || wrong === 'quiet' ? wrong : undefined,
        code: codeOutcomes.find(outcome => outcome === code),
        absence: { outcome: absenceOutcomes.find(outcome => outcome === absence) },
      });
    });
    scope.post('/preferences/:token', hidden, async (request: PageRequest, reply) => {
      const user = await findLinkHolder(deps, request.params.token);
      if (!user) return sendBroken(request, reply);
      const form = new URLSearchParams(typeof request.body === 'string' ? request.body : '');
      const own = forVisitor(deps, request);
      if (form.get('action') === 'verify') {
        const outcome = await readVerification(own, user, form);
        return reply
          .code(303)
          .header('location', `${preferencesPath(deps, user)}?code=${outcome}#addresses`)
          .send();
      }
      if (isAbsenceAction(form.get('action'))) {
        const absence = await changeAbsences(own, user, form);
        // What was entered is shown again, which a redirect would lose.
        if (absence.refused) return showPage(request, reply.code(400), user, { saved: false, absence });
        const done = absence.outcome ? `?absence=${absence.outcome}` : '';
        return reply
          .code(303)
          .header('location', `${preferencesPath(deps, user)}${done}#absences`)
          .send();
      }
      let outcome = 'saved=1';
      try {
        if (form.get('action') === 'off') await switchAllOff(own, user);
        else await savePage(own, user, readChoices(form), readQuiet(form, user), readReachForm(form));
      } catch (error) {
        if (!(error instanceof AppError) || error.kind !== 'invalid') throw error;
        const [field = ''] = Object.keys(error.details.fields ?? {});
        outcome = field.startsWith('reach') ? 'wrong=reach' : 'wrong=quiet';
      }
      // The redirect prevents a reload from submitting the form again.
      return reply
        .code(303)
        .header('location', `${preferencesPath(deps, user)}?${outcome}`)
        .send();
    });
    scope.get('/unsubscribe/:token', hidden, async (request: PageRequest, reply) => {
      const link = await findUnsubscribeLink(deps, request.params.token);
      if (!link) return sendBroken(request, reply);
      const frame = frameOf(request, link.user);
      const { name, isRequired, isOff } = await describeCategory(deps, link, link.user.locale ?? frame.language);
      const about = { category: name, type: link.channelType, manage: preferencesPath(deps, link.user) };
      if (isRequired || isOff) return sendPage(reply, frame, unsubscribedPage(frame, { ...about, done: !isRequired }));
      return sendPage(reply, frame, unsubscribePage(frame, about));
    });
    scope.post('/unsubscribe/:token', hidden, async (request: PageRequest, reply) => {
      const link = await findUnsubscribeLink(deps, request.params.token);
      if (!link) return sendBroken(request, reply);
      const done = await unsubscribe(forVisitor(deps, request), link);
      const frame = frameOf(request, link.user);
      const { name } = await describeCategory(deps, link, link.user.locale ?? frame.language);
      const about = { category: name, type: link.channelType, manage: preferencesPath(deps, link.user), done };
      return sendPage(reply, frame, unsubscribedPage(frame, about));
    });
  });
}

/** Sends or confirms a code, and returns what the page says about it. */
async function readVerification(deps: Deps, user: LinkedUser, form: URLSearchParams): Promise<CodeOutcome> {
  const code = form.get('code') ?? undefined;
  try {
    await verifyAddress(deps, user, Number(/^\d{1,15}$/.exec(form.get('address') ?? '')?.[0] ?? 0), code);
    return code === undefined ? 'sent' : 'verified';
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    if (error.code === 'verification.done') return 'verified';
    if (error.kind === 'rate_limited') return 'limited';
    return code === undefined ? 'failed' : error.kind === 'invalid' ? 'wrong' : 'ended';
  }
}

/** Attributes changes in the audit log to an anonymous visitor, with the origin of the request. */
export function forVisitor(deps: Deps, request: FastifyRequest): Deps {
  return { ...deps, actor: { ...anonymous, origin: request.ip, requestId: request.id } };
}

function frameOf(request: FastifyRequest, user: LinkedUser | undefined): Frame {
  return frameFor(request, user?.locale, user?.organization);
}

export function frameFor(
  request: FastifyRequest,
  locale: string | null | undefined,
  organization: Frame['organization'],
): Frame {
  const language = chooseLanguage(locale, request.headers['accept-language']);
  return { language, words: textsIn(language), nonce: randomBytes(16).toString('base64'), organization };
}

export function sendBroken(request: TokenRequest, reply: FastifyReply, sampleHint?: string) {
  const frame = frameOf(request, undefined);
  const isSample = request.params.token === sampleToken;
  return sendPage(reply.code(isSample ? 200 : 404), frame, brokenPage(frame, isSample, sampleHint));
}

/** The URL grants access to the page, so it is neither cached nor sent as a referrer. */
export function sendPage(reply: FastifyReply, { nonce, organization }: Frame, page: string) {
  const logoOrigin = logoOriginOf(organization?.logo_url);
  const policy = [
    "default-src 'none'",
    `style-src 'self' 'nonce-${nonce}'`,
    `img-src 'self'${logoOrigin ? ` ${logoOrigin}` : ''}`,
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ];
  return reply
    .headers({
      'content-security-policy': policy.join('; '),
      'referrer-policy': 'no-referrer',
      'cache-control': 'no-store',
      'x-robots-tag': 'noindex',
    })
    .type('text/html; charset=utf-8')
    .send(page);
}

/** Returns no change if the recipient left the fields as the page showed them. */
function readQuiet(form: URLSearchParams, user: LinkedUser): PageQuietHours {
  if (!form.has('quiet')) return {};
  const timezone = form.get('timezone') || null;
  const days = weekdays.filter(day => form.getAll('day').includes(day));
  const hours = {
    from: form.get('from') ?? undefined,
    to: form.get('to') ?? undefined,
    ...(days.length > 0 && days.length < weekdays.length && { weekdays: days }),
  };
  const mode = form.get('quiet') ?? '';
  const was = form.get('hours_was') ?? '';
  // Times that were entered without changing the select are the recipient's own.
  const isEntered = was.startsWith(`${mode} `) && was !== writeHours(mode, form.get('from'), form.get('to'), days);
  const chosen = isEntered ? hours : { usual: null, none: { enabled: false }, own: hours }[mode];
  const quiet_hours = chosen === undefined ? user.quiet_hours : chosen;
  if (writeQuietState(quiet_hours, timezone) === form.get('quiet_was')) return {};
  const times = quiet_hours && 'from' in quiet_hours ? [quiet_hours.from, quiet_hours.to] : [];
  const wrong = times.some(time => !/^([01]\d|2[0-3]):[0-5]\d$/.test(time ?? ''));
  if (wrong) throw invalid({ quiet_hours: ['must be times of day, such as 22:00'] });
  return { timezone, quiet_hours };
}

/** The form sends the previous state of every cell, and the cells that are now on. */
function readChoices(form: URLSearchParams): PageChoice[] {
  const on = new Set(form.getAll('on'));
  return form.getAll('was').flatMap(cell => {
    const [category = '', type = '', was] = cell.split(':');
    return was === '0' || was === '1' ? [{ category, type, was: was === '1', is: on.has(`${category}:${type}`) }] : [];
  });
}
