/**
 * The addresses of channels that services post to: `/feedback/TOKEN/SERVICE/` for reports, and `/interactions/TOKEN/PROVIDER/` for
 * pressed buttons and replies. The body is verified as it was sent, so they are no endpoints of the API with a schema.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { AppError } from '../../core/errors.ts';
import type { FeedbackRequest } from '../../core/feedback/event.ts';
import type { Deps } from '../../services/deps.ts';
import { findInteractionAddress, receiveInteraction } from '../../services/history/acknowledgements/interactions.ts';
import { findFeedbackAddress, receiveFeedback, SignedDocuments } from '../../services/history/feedback/requests.ts';
import type { Resources } from '../resolve.ts';
import type { LargeBodies } from '../server/large-bodies.ts';

interface RequestTools {
  deps: Deps;
  linkFor: (request: FastifyRequest) => (path: string) => string;
  largeBodies: LargeBodies;
}

interface ServiceRequests<Address> {
  /** With two parameters: the token, and the name of the service or provider. */
  path: string;
  /** What the second parameter names. */
  noun: 'service' | 'provider';
  bodyLimit: number;
  find(token: string, name: string): Promise<Address | undefined>;
  receive(deps: Deps, address: Address, request: FeedbackRequest, reply: FastifyReply): Promise<unknown>;
  /** Answers a GET. Absent: there is none. */
  answer?(query: Record<string, unknown>, reply: FastifyReply): unknown;
}

export async function registerServiceRequests(app: FastifyInstance, tools: RequestTools): Promise<void> {
  const documents = new SignedDocuments(tools.deps.outbound);
  await register(app, tools, {
    path: '/feedback/:token/:service',
    noun: 'service',
    // More than any service sends at once; a bounce mail can contain the whole original message.
    bodyLimit: 5 * 1024 * 1024,
    find: (token, service) => findFeedbackAddress(tools.deps, token, service),
    // Some services check that an address exists before they use it. Meta expects its challenge back.
    answer({ 'hub.challenge': challenge }, reply) {
      if (typeof challenge !== 'string' || !/^\w{1,100}$/.test(challenge)) return { ok: true };
      return reply.type('text/plain').send(challenge);
    },
    async receive(deps, address, request) {
      await receiveFeedback(deps, address, request, documents);
      return { ok: true };
    },
  });
  await register(app, tools, {
    path: '/interactions/:token/:provider',
    noun: 'provider',
    // Slack sends the whole message along, percent-encoded.
    bodyLimit: 1024 * 1024,
    find: (token, provider) => findInteractionAddress(tools.deps, token, provider),
    async receive(deps, address, request, reply) {
      const { contentType, body } = await receiveInteraction(deps, address, request, documents);
      // Slack shows the body of a response as an error unless it is empty.
      return reply.type(contentType ?? 'text/plain; charset=utf-8').send(body ?? '');
    },
  });
}

async function register<Address extends { organization_id: number }>(
  app: FastifyInstance,
  { deps, linkFor, largeBodies }: RequestTools,
  { path, noun, bodyLimit, find, receive, answer }: ServiceRequests<Address>,
): Promise<void> {
  const addresses = new WeakMap<FastifyRequest, Address>();
  const parametersOf = ({ params }: FastifyRequest) => Object.values(params as object) as [token: string, name: string];
  await app.register(async scope => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser('*', { parseAs: 'buffer', bodyLimit }, (request, bytes: Buffer, done) =>
      largeBodies.run(request, bytes, () => done(null, bytes)),
    );
    /** Runs before any of the body is read. */
    const onRequest = async (request: FastifyRequest, reply: FastifyReply) => {
      const address = await find(...parametersOf(request));
      if (!address)
        throw new AppError('path.not_found', `this is not the address of a channel and ${noun}: copy it again`);
      addresses.set(request, address);
      const organization = { id: address.organization_id };
      request.admission = { resources: { organization } as Resources };
      largeBodies.admit(request, reply);
    };
    const route = { schema: { hide: true }, bodyLimit, onRequest };
    if (answer)
      scope.get(path, route, async (request, reply) => answer(request.query as Record<string, unknown>, reply));
    scope.post(path, route, async (request, reply) => {
      const [, name] = parametersOf(request);
      const actor = { kind: 'visitor' as const, id: null, name, origin: request.ip, requestId: request.id };
      const headers = Object.entries(request.headers).map(([name, value]) => [name, [value].flat().join(', ')]);
      const received = {
        url: linkFor(request)(request.raw.url ?? ''),
        contentType: request.headers['content-type'] ?? '',
        headers: Object.fromEntries(headers),
        bytes: (request.body as Buffer | undefined) ?? Buffer.alloc(0),
      };
      return receive({ ...deps, actor }, addresses.get(request)!, received, reply);
    });
  });
}
