/**
 * The addresses that services post pressed buttons and replies to: `/interactions/TOKEN/PROVIDER/`. The body is verified
 * as it was sent, so this is no endpoint of the API with a schema.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { AppError } from '../../core/errors.ts';
import type { Deps } from '../../services/deps.ts';
import {
  findInteractionAddress,
  type InteractionAddress,
  receiveInteraction,
} from '../../services/history/acknowledgements/interactions.ts';
import type { Resources } from '../resolve.ts';
import type { LargeBodies } from '../server/large-bodies.ts';

/** Slack sends the whole message along, percent-encoded. */
const bodyLimit = 1024 * 1024;

type AddressRequest = FastifyRequest<{ Params: { token: string; provider: string } }>;

declare module 'fastify' {
  interface FastifyRequest {
    interactionAddress: InteractionAddress | null;
  }
}

export async function registerInteractionRequests(
  app: FastifyInstance,
  deps: Deps,
  linkFor: (request: FastifyRequest) => (path: string) => string,
  largeBodies: LargeBodies,
): Promise<void> {
  app.decorateRequest('interactionAddress', null);
  await app.register(async scope => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser('*', { parseAs: 'buffer', bodyLimit }, (request, bytes: Buffer, done) =>
      largeBodies.run(request, bytes, () => done(null, bytes)),
    );
    /** Runs before any of the body is read. */
    const onRequest = async (request: FastifyRequest, reply: FastifyReply) => {
      const { token, provider } = (request as AddressRequest).params;
      const address = await findInteractionAddress(deps, token, provider);
      if (!address)
        throw new AppError('path.not_found', 'this is not the address of a channel and provider: copy it again');
      request.interactionAddress = address;
      const organization = { id: address.organization_id };
      request.admission = { resources: { organization } as Resources };
      largeBodies.admit(request, reply);
    };
    const route = { schema: { hide: true }, bodyLimit, onRequest };
    scope.post('/interactions/:token/:provider', route, async (request, reply) => {
      const { provider } = (request as AddressRequest).params;
      const actor = { kind: 'visitor' as const, id: null, name: provider, origin: request.ip, requestId: request.id };
      const headers = Object.entries(request.headers).map(([name, value]) => [name, [value].flat().join(', ')]);
      const { contentType, body } = await receiveInteraction({ ...deps, actor }, request.interactionAddress!, {
        url: linkFor(request)(request.raw.url ?? ''),
        contentType: request.headers['content-type'] ?? '',
        headers: Object.fromEntries(headers),
        bytes: (request.body as Buffer | undefined) ?? Buffer.alloc(0),
      });
      // Slack shows the body of a response as an error unless it is empty.
      return reply.type(contentType ?? 'text/plain; charset=utf-8').send(body ?? '');
    });
  });
}
