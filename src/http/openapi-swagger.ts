/** Writes the OpenAPI document from the route table: for scripts/generate.ts, no server needs it to run. */
import swagger from '@fastify/swagger';
import type { FastifyInstance } from 'fastify';
import { version } from '../version.ts';
import { type OpenApiDocument, polish } from './openapi-document.ts';

/** The chapters of the reference, in its order. */
const tags = [
  { name: 'Events', description: 'What applications trigger.' },
  { name: 'Notifications', description: 'Who is told of an event, by which channels and in which words.' },
  { name: 'Layouts', description: 'What HTML mails stand in.' },
  { name: 'Occurrences', description: 'What became of a trigger.' },
  { name: 'Statistics', description: 'How an organization does.' },
  { name: 'Users', description: 'Who can be notified, and by which addresses.' },
  { name: 'Inbox', description: 'Messages that users read in your own application.' },
  { name: 'Categories', description: 'What recipients choose by.' },
  { name: 'Webhooks', description: 'Endpoints that are told of what happens, and what they were told.' },
  { name: 'Preferences', description: 'What recipients want to get.' },
  { name: 'Distribution lists', description: 'Who is notified together.' },
  { name: 'Channels', description: 'The ways in which messages travel.' },
  { name: 'Organizations', description: 'Tenants, their projects and applications.' },
  { name: 'Configuration', description: 'A whole organization as one document.' },
  { name: 'Keys', description: 'What lets programs in.' },
  { name: 'Accounts', description: 'The people who work with an organization, and what each may do.' },
  { name: 'Session', description: 'Signing in and out, for the console.' },
  { name: 'Two-factor', description: 'How an account signs in besides its password.' },
  { name: 'Audit', description: 'Who changed what, and who read everything at once.' },
  { name: 'System', description: 'Is it there?' },
];

/** For `app.swagger()`; before the routes. */
export async function registerSwagger(app: FastifyInstance): Promise<void> {
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Belfry',
        version,
        description:
          'Applications trigger events; Belfry decides who is told, by which channels, in which words and when.\n\n' +
          'Send your key with every request: `Authorization: Key <API_KEY>`. Errors are problem documents ' +
          '(RFC 9457) with [stable codes](/docs/problems/). Lists come whole, or page by page with `?limit=` and ' +
          'the `Link` header.',
        license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
      },
      components: {
        securitySchemes: {
          ApiKeyAuthentication: {
            type: 'apiKey',
            in: 'header',
            name: 'Authorization',
            description: '`Key <API_KEY>`; `Bearer <API_KEY>` works too.',
          },
          SessionCookie: {
            type: 'apiKey',
            in: 'cookie',
            name: 'belfry_session',
            description:
              'Of a person who is signed in. Whatever changes something needs the `csrf_token` of `GET /api/session/` ' +
              'in the header `x-csrf-token` too.',
          },
        },
      },
      tags,
    },
    hideUntagged: true,
    convertConstToEnum: false,
    transformObject: made => polish((made as { openapiObject: object }).openapiObject as OpenApiDocument) as object,
    refResolver: { buildLocalReference: (json, _base, _fragment, i) => String(json.$id ?? `Schema${i}`) },
  });
}
