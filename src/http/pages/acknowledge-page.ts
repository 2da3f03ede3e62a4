/** The page behind `{{ acknowledge_url }}`. GET shows a button and only POST acknowledges, because link scanners follow links. */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { acknowledgeTextsIn, describeAcknowledgement } from '../../core/message/acknowledge-texts.ts';
import { toSpeech } from '../../core/message/speech.ts';
import type { Deps } from '../../services/deps.ts';
import {
  type AcknowledgeLink,
  acknowledgeByLink,
  findAcknowledgeLink,
  sampleToken,
} from '../../services/history/acknowledgements/acknowledge-links.ts';
import { type Frame, html, page } from './preference-html.ts';
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
      return sendPage(reply, frame, acknowledgePage(frame, link, link.answers));
    });
    // The key that was pressed during a call. The token in the URL is the signature: only the provider was given it.
    scope.post('/acknowledge/:token/call', hidden, async (request: TokenRequest, reply) => {
      const link = await findAcknowledgeLink(deps, request.params.token);
      if (!link) return reply.code(401).type('text/plain').send('The link is not valid.');
      const digit = new URLSearchParams(String(request.body ?? '')).get('Digits');
      const answers = digit === '1' ? await acknowledgeByLink(forVisitor(deps, request), link) : link.answers;
      const { language } = frameOf(request, link);
      const status = describeAcknowledgement(language, answers) ?? link.event;
      return reply.type('text/xml; charset=utf-8').send(toSpeech(status, language));
    });
    scope.post('/acknowledge/:token', hidden, async (request: TokenRequest, reply) => {
      const link = await findAcknowledgeLink(deps, request.params.token);
      if (!link) return sendBroken(request, reply);
      const answers = await acknowledgeByLink(forVisitor(deps, request), link);
      const frame = frameOf(request, link);
      return sendPage(reply, frame, acknowledgePage(frame, link, answers));
    });
  });
}

function frameOf(request: FastifyRequest, { user, organization }: AcknowledgeLink): Frame {
  return frameFor(request, user?.locale, organization);
}

function acknowledgePage(frame: Frame, { event, organization }: AcknowledgeLink, answers: AcknowledgeLink['answers']) {
  const texts = acknowledgeTextsIn(frame.language);
  const status = describeAcknowledgement(frame.language, answers);
  const body = status
    ? html`<p role="status" class="notice">${status}</p>`
    : html`<p>${fill(texts.question, { event, name: organization.name })}</p>
<form method="post">
<p class="actions"><button type="submit">${texts.button}</button></p>
</form>`;
  return page(frame, texts.title, body);
}
