/**
 * A service that one could write in an afternoon: Express accepts the trigger, pg-boss has a job for each recipient, and
 * nodemailer's pool sends. It uses the fast paths of these libraries: one insert for all jobs, NOTIFY instead of waiting for the
 * next poll, whole batches, and two workers so that one settles while the other sends. A failed email is retried alone.
 */
import type { AddressInfo } from 'node:net';
import express from 'express';
import { Liquid } from 'liquidjs';
import { createTransport } from 'nodemailer';
import pg from 'pg';
import { PgBoss } from 'pg-boss';
import { defaultLayout } from '../src/core/render/layout-default.ts';

interface Job {
  to: string;
  name: string;
  n: number;
}

const connectionString = process.env.PEER_DATABASE_URL!;
const database = new pg.Pool({ connectionString });
const transport = createTransport({
  pool: true,
  host: '127.0.0.1',
  port: Number(process.env.PEER_SMTP_PORT),
  ignoreTLS: true,
  maxConnections: Number(process.env.PEER_CONNECTIONS),
  maxMessages: Number.POSITIVE_INFINITY,
});

const liquid = new Liquid({ outputEscape: 'escape' });
const subject = liquid.parse('Hello {{ name | raw }}, order {{ n | raw }} is on its way');
const text = liquid.parse(`Hello {{ name | raw }},

your order {{ n | raw }} has left our house and is on its way to you. You will hear from us at {{ to | raw }}.

Follow your parcel: https://shop.x.test/orders/{{ n | url_encode }}?for={{ to | url_encode }}

Thank you for buying from us!`);
const html = liquid.parse(
  defaultLayout.replace(
    '{{ content }}',
    `<p>Hello {{ name }},</p>
<p>your order <strong>{{ n }}</strong> has left our house and is on its way to you. You will hear from us at {{ to }}.</p>
<p><a href="https://shop.x.test/orders/{{ n | url_encode }}?for={{ to | url_encode }}">Follow your parcel</a></p>
<p>Thank you for buying from us!</p>`,
  ),
);

const shortSubject = liquid.parse('Hello {{ name | raw }}');
const shortText = liquid.parse('Order {{ n | raw }} is on its way to {{ to | raw }}.');

/** Renders the same text as Belfry's fan-out and discards it. */
function sendNothing(job: Job): void {
  discard(liquid.renderSync(shortSubject, job), liquid.renderSync(shortText, job));
}

const discard = (_subject: string, _text: string) => {};

async function sendMail(job: Job): Promise<void> {
  const title = liquid.renderSync(subject, job);
  await transport.sendMail({
    from: 'Acme Shop <bench@x.test>',
    to: job.to,
    subject: title,
    text: liquid.renderSync(text, job),
    html: liquid.renderSync(html, { ...job, lang: 'en', dir: 'ltr', title, preheader: `Hello ${job.name}` }),
  });
}

const boss = new PgBoss({ connectionString, schema: 'pgboss', useListenNotify: true });
boss.on('error', error => console.error(error));
await boss.start();
await boss.createQueue('mail', { notify: true, retryLimit: 5, retryBackoff: true });
await boss.createQueue('nothing', { notify: true, retryLimit: 5, retryBackoff: true });
const fast = {
  burstWhenBatchFull: true,
  pollingIntervalSeconds: 1,
  notifyPollingIntervalSeconds: 1,
  localConcurrency: 2,
};
await boss.work<Job>('nothing', { ...fast, batchSize: 500 }, async jobs => {
  for (const { data } of jobs) sendNothing(data);
});
await boss.work<Job, object, { perJobResults: true; batchSize: number }>(
  'mail',
  { ...fast, batchSize: 100, perJobResults: true },
  jobs =>
    Promise.all(
      jobs.map(({ id, data }) =>
        sendMail(data).then(
          () => ({ id, status: 'completed' as const }),
          error => ({ id, status: 'failed' as const, output: { message: error.message } }),
        ),
      ),
    ),
);

const app = express();
app.use(express.json());
app.post('/trigger/:queue/:list', async (request, response) => {
  const { rows } = await database.query<{ to: string; name: string }>(
    `select a.value as "to", u.first_name as name
     from distribution_lists l
     join members m on m.organization_id = l.organization_id and m.list_id = l.id
     join addresses a on a.organization_id = m.organization_id and a.id = m.address_id
     join users u on u.organization_id = a.organization_id and u.id = a.user_id
     where l.name = $1`,
    [request.params.list],
  );
  const jobs = rows.map(({ to, name }) => ({ data: { to, name, n: request.body.n } }));
  await boss.insert(request.params.queue, jobs);
  response.status(201).json({ jobs: jobs.length });
});
const server = app.listen(0, '127.0.0.1', () => {
  process.stdout.write(`${(server.address() as AddressInfo).port}\n`);
});
process.on('disconnect', () => process.exit(0));
