/**
 * Common code of the queues in everyday.ts: the same framework validates the same trigger, a ledger has a row for each message, and
 * sent messages are discarded. Such a service decides nothing, and only the ledger knows the outcome of a message.
 */
import type { AddressInfo } from 'node:net';
import Fastify from 'fastify';
import { Liquid } from 'liquidjs';
import pg from 'pg';
import { uuidv7 } from '../src/core/ids.ts';
import { TriggerBody } from '../src/core/trigger.ts';
import { Triggered } from '../src/http/server/schemas.ts';

export interface Message {
  occurrence: string;
  channel: string;
  recipient: string;
  context: Context;
}

interface Context {
  total: number;
}

interface Trigger {
  context: Context;
  options?: { recipients?: string[] };
}

export const connectionString = process.env.PEER_DATABASE_URL!;
export const schema = process.env.PEER_SCHEMA!;
export const database = new pg.Pool({ connectionString, max: 20 });
const logError = (error: Error) => console.error(error);
database.on('error', logError).on('connect', client => client.on('error', logError));

const liquid = new Liquid();
const subject = liquid.parse('Order {{ order }}');
const text = liquid.parse('Hello {{ customer.name }}, your order comes to {{ total }}.');

/** Renders the same text as Belfry and discards it. */
export function send({ context }: Message): void {
  discard(liquid.renderSync(subject, context), liquid.renderSync(text, context));
}

const discard = (_subject: string, _text: string) => {};

export async function createLedger(): Promise<void> {
  await database.query(`create schema if not exists ${schema}`);
  await database.query(`
    create table if not exists ${schema}.ledger (
      occurrence uuid not null,
      channel text not null,
      recipient text not null,
      context jsonb not null,
      created_at timestamptz not null default now(),
      sent_at timestamptz,
      primary key (occurrence, channel)
    )`);
}

/** Serves the events of everyday.ts; `accept` resolves once the messages are on disk. */
export async function serveTriggers(accept: (messages: Message[]) => Promise<unknown>): Promise<void> {
  const recipientsOf: Record<string, (trigger: Trigger) => Promise<string[]>> = {
    named: async ({ options }) => options?.recipients ?? [],
    listed: () => findMembers('one'),
    filtered: async ({ context, options }) => (context.total > 10 ? (options?.recipients ?? []) : []),
  };
  const channelsOf: Record<string, string[]> = { filtered: ['sandbox', 'second'] };
  const app = Fastify({ ajv: { customOptions: { keywords: ['patternHint'] } } });
  app.post<{ Params: { event: string }; Body: Trigger }>(
    '/api/o/:organization/p/:project/a/:application/e/:event/trigger/',
    { schema: { body: TriggerBody, response: { 201: Triggered } } },
    async ({ params: { event }, body }, reply) => {
      const occurrence = uuidv7(Date.now());
      const recipients = await recipientsOf[event]!(body);
      const channels = channelsOf[event] ?? ['sandbox'];
      const { context } = body;
      await accept(
        recipients.flatMap(recipient => channels.map(channel => ({ occurrence, channel, recipient, context }))),
      );
      reply.code(201);
      return { occurrence };
    },
  );
  await app.listen({ host: '127.0.0.1', port: 0 });
  ready((app.server.address() as AddressInfo).port);
}

/** Prints the line that openPeer waits for; a worker has no port. */
export function ready(port = 0): void {
  process.stdout.write(`${port}\n`);
}

async function findMembers(list: string): Promise<string[]> {
  const { rows } = await database.query<{ value: string }>({
    name: 'find_members',
    text: `
      select a.value from distribution_lists l
      join members m on m.organization_id = l.organization_id and m.list_id = l.id
      join addresses a on a.organization_id = m.organization_id and a.id = m.address_id
      where l.name = $1`,
    values: [list],
  });
  return rows.map(({ value }) => value);
}

process.on('disconnect', () => process.exit(0));
