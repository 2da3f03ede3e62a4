/**
 * The addresses that services report to: `/feedback/TOKEN/SERVICE/`. The body is verified as it was sent, so this is no
 * endpoint of the API with a schema.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { AppError } from '../../core/errors.ts';
import type { Deps } from '../../services/deps.ts';
import {
  type FeedbackAddress,
  findFeedbackAddress,
  receiveFeedback,
  SignedDocuments,
} from '../../services/history/feedback/requests.ts';
import type { Resources } from '../resolve.ts';
import type { LargeBodies } from '../server/large-bodies.ts';

/** More than any service sends at once; a bounce mail can contain the whole original message. */
const bodyLimit = 5 * 1024 * 1024;

type AddressRequest = FastifyRequest<{ Params: { token: string; service: string } }>;

declare module 'fastify' {
  interface FastifyRequest {
    feedbackAddress: FeedbackAddress | null;
  }
}

export async function registerFeedbackRequests(
  app: FastifyInstance,
  deps: Deps,
  linkFor: (request: FastifyRequest) => (path: string) => string,
  largeBodies: LargeBodies,
): Promise<void> {
  const documents = new SignedDocuments(deps.outbound);
  app.decorateRequest('feedbackAddress', null);
  await app.register(async scope => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser('*', { parseAs: 'buffer', bodyLimit }, (request, bytes: Buffer, done) =>
      largeBodies.run(request, bytes, () => done(null, bytes)),
    );
    /** Runs before any of the body is read. */
    const onRequest = async (request: FastifyRequest, reply: FastifyReply) => {
      const { token, service } = (request as AddressRequest).params;
      const address = await findFeedbackAddress(deps, token, service);
      if (!address)
        throw new AppError('path.not_found', 'this is not the address of a channel and service: copy it again');
      request.feedbackAddress = address;
      const organization = { id: address.organization_id };
      request.admission = { resources: { organization } as Resources };
      largeBodies.admit(request, reply);
    };
    const route = { schema: { hide: true }, bodyLimit, onRequest };
    // Some services check that an address exists before they use it. Meta expects its challenge back.
    scope.get('/feedback/:token/:service', route, async (request, reply) => {
      const challenge = (request.query as Record<string, unknown>)['hub.challenge'];
      if (typeof challenge !== 'string' || !/^\w{1,100}$/.test(challenge)) return { ok: true };
      return reply.type('text/plain').send(challenge);
    });
    scope.post('/feedback/:token/:service', route, async request => {
      const { service } = (request as AddressRequest).params;
      const actor = {
        kind: 'visitor' as const,
        id: null,
        name: service,
        origin: request.ip,
        requestId: request.id,
      };
      const headers = Object.entries(request.headers).map(([name, value]) => [name, [value].flat().join(', ')]);
      await receiveFeedback(
        { ...deps, actor },
        request.feedbackAddress!,
        {
          url: linkFor(request)(request.raw.url ?? ''),
          contentType: request.headers['content-type'] ?? '',
          headers: Object.fromEntries(headers),
          bytes: (request.body as Buffer | undefined) ?? Buffer.alloc(0),
        },
        documents,
      );
      return { ok: true };
    });
  });
}
