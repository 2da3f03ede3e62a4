import { linkUrlOf } from '../config.ts';
import { runDoctorChecks } from '../services/operations/doctor/doctor.ts';
import type { Check } from '../services/operations/health.ts';
import { findLinkUrl } from '../services/operations/instance.ts';
import { flag, readOptions, string, strings } from './arguments.ts';
import { type Command, type Terminal, usageError } from './command.ts';
import { checkDomain } from './doctor-domain.ts';
import { formatTable } from './format.ts';
import { remoteOf } from './remote.ts';

export const doctor: Command = {
  name: 'doctor',
  usage: '[--json] | --domain DOMAIN [--selector NAME] [--dns-server ADDRESS]… [--json]',
  summary: 'Check the installation, or the DNS records of a sending domain, and say how to fix problems.',
  details: `--domain DOMAIN       check SPF, DKIM, DMARC and MX of this domain, and print the records to publish
--selector NAME       also check this DKIM selector; those of channels are found automatically
--dns-server ADDRESS  ask this DNS server, such as 192.0.2.53 or 127.0.0.1:5353; default: BELFRY_DNS_SERVERS, else the system's
--json                print the checks as JSON

Without --domain, checks database, migrations, queue, channels, heartbeats, schedules, outboxes, traces and clock. Services that can be asked for
nothing more than that are asked whether they accept the credentials of up to 100 channels.

Exit code 1 if a check fails. The queue check fails when
- a running worker has not completed a round for a minute,
- messages are due and no worker is running,
- the oldest urgent or normal message has been due for more than 10 minutes, or the oldest bulk message for more than 6 hours.

/readyz of a process with a worker responds 503 by the same limits. A process that only accepts triggers stays ready,
because it stores them durably, and reports the failed check. With BELFRY_URL, checks a running server from outside.

With --domain, a database is optional: with one, the channels that send from the domain are checked too, such as their DKIM
keys and mail servers. Exit code 1 if there is an error, or DNS did not answer; warnings do not count.`,
  examples: [
    'belfry doctor',
    'belfry doctor --domain acme.test --selector s1',
    'BELFRY_URL=https://belfry.example.com BELFRY_KEY=bf_… belfry doctor',
  ],
  async run(args, terminal) {
    const values = readOptions(args, {
      json: { ...flag, default: false },
      domain: string,
      selector: string,
      'dns-server': { ...strings, default: [] },
    });
    const { domain, selector, 'dns-server': dnsServers, json } = values;
    if (domain !== undefined) return checkDomain(terminal, { domain, selector, dnsServers, json });
    if (selector !== undefined || dnsServers.length > 0) {
      throw usageError('--selector and --dns-server need a domain: belfry doctor --domain acme.test');
    }
    const checks = await runChecks(terminal);
    const healthy = checks.every(check => check.ok);
    if (values.json) terminal.print(JSON.stringify({ healthy, checks }, null, 2));
    else {
      terminal.print(formatTable(checks.map(({ name, ok, detail }) => [ok ? 'ok  ' : 'FAIL', name, detail])));
      terminal.print(healthy ? '\nAll checks passed.' : '\nSome checks failed: see the lines marked FAIL.');
    }
    return healthy ? 0 : 1;
  },
};

async function runChecks(terminal: Terminal): Promise<Check[]> {
  const remote = remoteOf(terminal);
  if (remote)
    return examineServer(terminal.config.url!, () => remote.request<{ token: string }>('GET', '/api/system/ping/'));
  try {
    const { config } = terminal;
    return await terminal.withDeps(async deps => {
      const linkUrl = await findLinkUrl(deps.db, linkUrlOf(config), config);
      return runDoctorChecks(deps, Date.now(), { ...config, linkUrl });
    });
  } catch (error) {
    return [{ name: 'database', ok: false, detail: (error as Error).message }];
  }
}

/** Checks a running server from outside: its own checks, the API key, and the clock. */
async function examineServer(url: string, ping: () => Promise<{ token: string }>): Promise<Check[]> {
  let response: Response;
  try {
    response = await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(10_000) });
  } catch (error) {
    const cause = (error as Error).cause as Error | undefined;
    return [
      { name: 'server', ok: false, detail: `cannot reach ${url}: ${cause?.message ?? (error as Error).message}` },
    ];
  }
  const { checks = [] } = (await response.json().catch(() => ({}))) as { checks?: Check[] };
  const offsetMs = Math.abs(Date.parse(response.headers.get('date') ?? '') - Date.now());
  const key = await ping().then(
    ({ token }) => ({ name: 'key', ok: true, detail: `valid, named ${token}` }),
    (error: Error) => ({ name: 'key', ok: false, detail: error.message }),
  );
  return [
    { name: 'server', ok: response.ok, detail: `${url} responds ${response.status}` },
    ...checks,
    key,
    ...(Number.isNaN(offsetMs)
      ? []
      : [{ name: 'clock', ok: offsetMs <= 5_000, detail: `${Math.round(offsetMs / 1_000)} s off the server's clock` }]),
  ];
}
