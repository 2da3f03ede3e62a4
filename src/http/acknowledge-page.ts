/** Where `{{ acknowledge_url }}` leads. GET shows a page with a button, POST acts: scanners follow every link. */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import {
  type AcknowledgeLink,
  acknowledgeByLink,
  findAcknowledgeLink,
  sampleToken,
} from '../services/acknowledge-links.ts';
import type { Deps } from '../services/deps.ts';
import { type AcknowledgeWords, acknowledgeWordsIn } from './acknowledge-words.ts';
import { type Frame, html, page } from './preference-html.ts';
import { forVisitor, frameFor, sendBroken, sendPage } from './preference-page.ts';
import { fill } from './preference-words.ts';

type Linked = FastifyRequest<{ Params: { token: string } }>;

const bodyLimit = 16 * 1024;

export async function registerAcknowledgePage(app: FastifyInstance, deps: Deps): Promise<void> {
  await app.register(async scope => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser('*', { parseAs: 'string', bodyLimit }, (_request, text, done) => done(null, text));
    const hidden = { schema: { hide: true }, bodyLimit };
    scope.get('/acknowledge/:token', hidden, async (request: Linked, reply) => {
      const { token } = request.params;
      const link = await findAcknowledgeLink(deps, token);
      if (!link) {
        const frame = frameFor(request, undefined, undefined);
        const { sampleHint } = acknowledgeWordsIn(frame.language);
        return sendBroken(request, reply, token === sampleToken ? sampleHint : undefined);
      }
      const frame = frameOf(request, link);
      return sendPage(reply, frame, acknowledgePage(frame, link, link.answers));
    });
    scope.post('/acknowledge/:token', hidden, async (request: Linked, reply) => {
      const link = await findAcknowledgeLink(deps, request.params.token);
      if (!link) return sendBroken(request, reply);
      const answers = await acknowledgeByLink(forVisitor(deps, request), link);
      const frame = frameOf(request, link);
      return sendPage(reply, frame, acknowledgePage(frame, link, answers));
    });
  });
}

function frameOf(request: FastifyRequest, { person, organization }: AcknowledgeLink): Frame {
  return frameFor(request, person?.locale, organization);
}

function acknowledgePage(frame: Frame, { event, organization }: AcknowledgeLink, answers: AcknowledgeLink['answers']) {
  const words = acknowledgeWordsIn(frame.language);
  const told = tell(words, frame.language, answers);
  const body = told
    ? html`<p role="status" class="notice">${told}</p>`
    : html`<p>${fill(words.question, { event, name: organization.name })}</p>
<form method="post">
<p class="actions"><button type="submit">${words.button}</button></p>
</form>`;
  return page(frame, words.title, body);
}

/** Who was first, and when. */
function tell(words: AcknowledgeWords, language: string, answers: AcknowledgeLink['answers']): string | undefined {
  const { acknowledged_at, acknowledged_by, resolved_at, resolved_by } = answers;
  const at = (time: string) =>
    new Intl.DateTimeFormat(language, { dateStyle: 'long', timeStyle: 'long', timeZone: 'UTC' }).format(new Date(time));
  if (resolved_at) return fill(words.resolved, { by: resolved_by ?? '', at: at(resolved_at) });
  return acknowledged_at ? fill(words.acknowledged, { by: acknowledged_by ?? '', at: at(acknowledged_at) }) : undefined;
}
