/** Generates the OpenAPI document from the route table, for scripts/generate.ts; a running server does not need it. */
import swagger from '@fastify/swagger';
import type { FastifyInstance } from 'fastify';
import { version } from '../../../version.ts';
import { improve, type OpenApiDocument } from './document.ts';

/** The sections of the API reference, in order. */
const tags = [
  { name: 'Events', description: 'Types of events that applications trigger.' },
  {
    name: 'Notifications',
    description: 'Rules of an event: who is notified, over which channels and with which message.',
  },
  { name: 'Layouts', description: 'The HTML around the body of emails.' },
  { name: 'Silences', description: 'What is held or suppressed for some time, such as during maintenance.' },
  { name: 'Sources', description: 'Addresses that monitoring systems post alerts to, and what they sent.' },
  { name: 'Service levels', description: 'How well Belfry itself does, and rehearsals that prove it to the outside.' },
  { name: 'Heartbeats', description: 'Calls that are expected regularly, such as from cron jobs.' },
  { name: 'On call', description: 'Schedules that say who is on call when, and overrides of them.' },
  { name: 'Attachments', description: 'Files that are sent with messages.' },
  { name: 'Occurrences', description: 'Accepted triggers, their deliveries and outcomes.' },
  { name: 'Feedback', description: 'What became of messages after they were sent: bounces, complaints and more.' },
  { name: 'Statistics', description: 'Delivery statistics of an organization.' },
  { name: 'Users', description: 'People who can be notified, and their addresses.' },
  { name: 'Inbox', description: 'Messages that users read inside your application.' },
  { name: 'Categories', description: 'Topics that recipients can subscribe to or turn off.' },
  {
    name: 'Webhooks',
    description: 'Endpoints that receive events about deliveries and channels, and the messages sent to them.',
  },
  { name: 'Preferences', description: 'What recipients want to receive, and over which channels.' },
  { name: 'Distribution lists', description: 'Groups of recipients.' },
  { name: 'Suppression list', description: 'Addresses and domains to which nothing is sent.' },
  { name: 'Channels', description: 'Email, SMS, chat and other ways to deliver messages.' },
  { name: 'Organizations', description: 'Tenants, their projects and applications.' },
  { name: 'Configuration', description: 'A whole organization as one document.' },
  { name: 'Keys', description: 'API keys for programs.' },
  { name: 'Accounts', description: 'Members of an organization, and their roles.' },
  { name: 'Session', description: 'Signing in and out, for the console.' },
  { name: 'Two-factor', description: 'Second factors of an account: authenticator apps, passkeys and recovery codes.' },
  { name: 'Audit', description: 'Changes, sign-ins and bulk reads of personal data.' },
  { name: 'System', description: 'Connectivity check.' },
];

/** Enables `app.swagger()`. Must be called before routes are added. */
export async function registerSwagger(app: FastifyInstance): Promise<void> {
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Belfry',
        version,
        description:
          'Applications trigger events; Belfry decides who is notified, over which channels, with which message and when.\n\n' +
          'Send your API key with every request: `Authorization: Key <API_KEY>`. Errors are problem documents ' +
          '(RFC 9457) with [stable codes](/docs/problems/). Lists are returned in full, or in pages with `?limit=` and ' +
          'the `Link` header.',
        license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
      },
      servers: [{ url: '/', description: 'The server that serves this document.' }],
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
              'The session of a signed-in account. Requests that change data also need the `csrf_token` from ' +
              '`GET /api/session/` in the header `x-csrf-token`.',
          },
        },
      },
      tags,
    },
    hideUntagged: true,
    convertConstToEnum: false,
    transformObject: generated =>
      improve((generated as { openapiObject: object }).openapiObject as OpenApiDocument) as object,
    refResolver: { buildLocalReference: (json, _base, _fragment, i) => String(json.$id ?? `Schema${i}`) },
  });
}
