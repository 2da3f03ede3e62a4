/** The page behind `{{ acknowledge_url }}`. GET shows a button and only POST acknowledges, because link scanners follow links. */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { isBundleId } from '../../core/decision/bundle.ts';
import { acknowledgeTextsIn } from '../../core/message/acknowledge-texts.ts';
import { toSpeech } from '../../core/message/speech.ts';
import type { Deps } from '../../services/deps.ts';
import {
  type AcknowledgeLink,
  acknowledgeByLink,
  findAcknowledgeLink,
  sampleToken,
  snoozeByLink,
} from '../../services/history/acknowledgements/acknowledge-links.ts';
import { html } from './html.ts';
import { type Frame, page } from './preference-html.ts';
import { forVisitor, frameFor, sendBroken, sendPage } from './preference-page.ts';
import { fill } from './preference-texts.ts';

type TokenRequest = FastifyRequest<{ Params: { token: string } }>;

const bodyLimit = 16 * 1024;

export async function registerAcknowledgePage(app: FastifyInstance, deps: Deps): Promise<void> {
  await app.register(async scope => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser('*', { parseAs: 'string', bodyLimit }, (_request, text, done) => done(null, text));
    const hidden = { schema: { hide: true }, bodyLimit };
    scope.get('/acknowledge/:token', hidden, async (request: TokenRequest, reply) => {
      const { token } = request.params;
      const link = await findAcknowledgeLink(deps, token);
      if (!link) {
        const frame = frameFor(request, undefined, undefined);
        const { sampleHint } = acknowledgeTextsIn(frame.language);
        return sendBroken(request, reply, token === sampleToken ? sampleHint : undefined);
      }
      const frame = frameOf(request, link);
      return sendPage(reply, frame, acknowledgePage(frame, link, link.describe(frame.language)));
    });
    // The key that was pressed during a call. The token in the URL is the signature: only the provider was given it.
    scope.post('/acknowledge/:token/call', hidden, async (request: TokenRequest, reply) => {
      const link = await findAcknowledgeLink(deps, request.params.token);
      if (!link) return reply.code(401).type('text/plain').send('The link is not valid.');
      const digit = new URLSearchParams(String(request.body ?? '')).get('Digits');
      const { language } = frameOf(request, link);
      const { status } =
        digit === '1' ? await acknowledgeByLink(forVisitor(deps, request), link, language) : link.describe(language);
      return reply.type('text/xml; charset=utf-8').send(toSpeech(status ?? link.event, language));
    });
    scope.post('/acknowledge/:token', hidden, async (request: TokenRequest, reply) => {
      const link = await findAcknowledgeLink(deps, request.params.token);
      if (!link) return sendBroken(request, reply);
      const isSnooze = new URLSearchParams(String(request.body ?? '')).has('snooze');
      const frame = frameOf(request, link);
      const answer = isSnooze ? snoozeByLink : acknowledgeByLink;
      const state = await answer(forVisitor(deps, request), link, frame.language);
      return sendPage(reply, frame, acknowledgePage(frame, link, state));
    });
  });
}

function frameOf(request: FastifyRequest, { user, organization }: AcknowledgeLink): Frame {
  return frameFor(request, user?.locale, organization);
}

function acknowledgePage(
  frame: Frame,
  { event, organization, identifier }: AcknowledgeLink,
  { status, isSnoozed }: ReturnType<AcknowledgeLink['describe']>,
) {
  const texts = acknowledgeTextsIn(frame.language);
  const acknowledge = html`<button type="submit">${texts.button}</button>`;
  const snooze = html` <button type="submit" name="snooze" value="1h" class="quiet">${texts.snooze}</button>`;
  const form = html`<form method="post">
<p class="actions">${acknowledge}${isSnoozed || isBundleId(identifier) ? '' : snooze}</p>
</form>`;
  const said = status
    ? html`<p role="status" class="notice">${status}</p>`
    : html`<p>${fill(texts.question, { event, name: organization.name })}</p>
`;
  return page(frame, texts.title, html`${said}${status && !isSnoozed ? '' : form}`);
}
