/**
 * Makes every call of the official Python clients of PagerDuty and Opsgenie, and a `curl` of each path of Healthchecks, and compares the
 * answers with those of the services.
 */
import { writeFile } from 'node:fs/promises';
import { type AddressInfo, connect } from 'node:net';
import path from 'node:path';
import { createServer, type Server } from 'node:tls';
import { certificate, certificateKey } from '../../test/support/certificate.ts';
import { installPython } from '../../test/support/python.ts';
import { hasProgram, root, run, Skipped, startServer, temporaryFolder } from './support.ts';

const clients = ['pdpyras==5.4.1', 'pagerduty==7.2.0', 'opsgenie-sdk==2.1.5'];
const keys = {
  pagerduty: 'pagerduty'.padEnd(32, '0'),
  opsgenie: 'opsgenie'.padEnd(36, '0'),
  pings: 'pings'.padEnd(22, '0'),
};
const check = '3f6a1d0e-5a55-4b0e-9c3f-1f4b5c1a2d3e';
const unknown = '00000000-5a55-4b0e-9c3f-1f4b5c1a2d3e';

export async function checkAlertClients(): Promise<string> {
  const python = await installPython(...clients);
  if ('missing' in python) throw new Skipped(python.missing);
  if (!hasProgram('curl')) throw new Skipped('curl is not installed');
  const folder = temporaryFolder('alert-clients');
  const [program, script] = [process.execPath, path.join(root, 'bin/belfry.js')];
  const env = { BELFRY_DATA_DIR: folder };
  const server = await startServer([program, script, 'serve'], folder, env);
  const tls = await openTls(server.address);
  try {
    const certificateFile = path.join(folder, 'certificate.pem');
    await writeFile(certificateFile, certificate);
    const file = path.join(folder, 'acme.json');
    await writeFile(file, JSON.stringify({ organizations: [organization] }));
    await run(program, [script, 'apply', file], { env });
    const counts = await run(path.join(python.bin, 'python'), [path.join(import.meta.dirname, 'alert_clients.py')], {
      env: {
        ...{ BELFRY_URL: server.address, PAGERDUTY_KEY: keys.pagerduty, OPSGENIE_KEY: keys.opsgenie },
        BELFRY_SECURE_URL: `https://localhost:${(tls.address() as AddressInfo).port}`,
        SSL_CERT_FILE: certificateFile,
      },
    });
    const pings = await checkPings(server.address);
    return `every call is answered as by the service: ${counts.trim()}, Healthchecks with curl ${pings}`;
  } finally {
    tls.close();
    await server.stop();
  }
}

/** Ends TLS in front of the service. */
async function openTls(address: string): Promise<Server> {
  const { port } = new URL(address);
  const server = createServer({ cert: certificate, key: certificateKey }, client => {
    const target = connect(Number(port), '127.0.0.1');
    for (const [from, to] of [
      [client, target],
      [target, client],
    ] as const)
      from
        .on('error', () => to.destroy())
        .on('close', () => to.destroy())
        .pipe(to);
  });
  server.listen(0, '127.0.0.1');
  await new Promise(resolve => server.once('listening', resolve));
  return server;
}

const sourceOf = (use: string | undefined, slug: string, token: string) => ({
  ...{ slug, name: slug, ...(use && { use }), token, routes: [{ event: 'page' }] },
});

/** The steps keep an occurrence open, so that it can be acknowledged. */
const organization = {
  slug: 'acme',
  name: 'Acme',
  users: [{ email: 'ann@acme.test' }],
  channels: [{ slug: 'mail', name: 'Mail', type: 'email', providers: [{ use: 'sandbox' }] }],
  projects: [
    {
      slug: 'ops',
      name: 'Operations',
      applications: [
        {
          slug: 'alerts',
          name: 'Alerts',
          events: [
            {
              slug: 'page',
              name: 'Page',
              notifications: [
                {
                  name: 'page',
                  recipients: { users: "email == 'ann@acme.test'" },
                  steps: [{ channels: ['mail'] }, { after: '1h', unless: 'acknowledged', channels: ['mail'] }],
                  message: { subject: '{{ title }}', body: '{{ source }}' },
                },
              ],
            },
          ],
          sources: [
            sourceOf('pagerduty', 'pagerduty', keys.pagerduty),
            sourceOf('opsgenie', 'opsgenie', keys.opsgenie),
            sourceOf('healthchecks', 'pings', keys.pings),
          ],
          heartbeats: [{ slug: 'backup', name: 'Backup', every: '1d', grace: '1h', event: 'page', token: check }],
        },
      ],
    },
  ],
};

/** The answers are those of Healthchecks, hc/api/urls.py and hc/api/views.py. */
const ok = '200 OK';
const notFound = '404 not found';
const pings: [path: string, answer: string][] = [
  ...['', '/', '/start', '/fail', '/log', '/0', '/1', '/255', '?rid=5b1a4d0c-4f0e-4d27-8f0e-2f1f1a2d3c4b'].map(
    (end): [string, string] => [`${check}${end}`, ok],
  ),
  [`${check}/start?rid=5b1a4d0c-4f0e-4d27-8f0e-2f1f1a2d3c4b`, ok],
  [`${check}?rid=nope`, '400 invalid uuid format'],
  [`${check}/256`, '400 invalid url format'],
  [unknown, notFound],
  [`${unknown}/fail`, notFound],
  ...['', '/start', '/fail', '/log', '/0', '/255'].map((end): [string, string] => [`${keys.pings}/backup${end}`, ok]),
  [`${keys.pings}/backup/256`, '400 invalid url format'],
  [`${keys.pings}/backup?rid=nope`, '400 invalid uuid format'],
  [`${keys.pings}/Backup`, '400 invalid url format'],
  [`${keys.pings}/unknown`, notFound],
  [`${keys.pings}/unknown?create=0`, notFound],
  [`${'x'.repeat(22)}/backup?create=1`, notFound],
];

async function checkPings(address: string): Promise<number> {
  let count = 0;
  const ask = async (at: string, args: string[], wanted: string) => {
    count++;
    const format = '\n%{http_code} %header{ping-body-limit} %header{access-control-allow-origin}';
    const output = await run('curl', ['-sS', '-m', '10', '-w', format, ...args, `${address}/ping/${at}`]);
    const [body, numbers = ''] = output.split(/\n(?=[^\n]*$)/);
    const [status, ...headers] = numbers.split(' ');
    const isHead = args.includes('--head');
    const found = isHead ? status : `${status} ${body}`;
    const isRight = isHead ? wanted.startsWith(`${status} `) : found === wanted;
    if (!isRight)
      throw new Error(`curl ${args.join(' ')} /ping/${at} is answered with "${found}" instead of "${wanted}"`);
    if (Number(status) < 300 && headers.join(' ') !== '10000 *')
      throw new Error(`/ping/${at} is answered with the headers ${headers.join(' ')}`);
  };
  for (const [at, wanted] of pings) {
    for (const args of [[], ['--head'], ['--data-raw', 'output of the job']]) await ask(at, args, wanted);
  }
  await ask(`${keys.pings}/made-by-a-ping?create=1`, [], '201 Created');
  await ask(`${keys.pings}/made-by-a-ping?create=1`, [], ok);
  await ask(`${keys.pings}/made-by-another/fail?create=1`, ['--data-binary', 'x'.repeat(20_000)], '201 Created');
  return count;
}
