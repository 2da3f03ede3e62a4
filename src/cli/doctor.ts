import { parseArgs } from 'node:util';
import { examine } from '../services/doctor.ts';
import type { Check } from '../services/health.ts';
import type { Command, Terminal } from './command.ts';
import { formatTable } from './format.ts';
import { remoteOf } from './remote.ts';

export const doctor: Command = {
  name: 'doctor',
  usage: '[--json]',
  summary: 'Checks database, migrations, queue, channels, outboxes, traces and clock; says what to do.',
  details:
    'Exit code 1 when something is wrong. The queue is, when a running worker has finished no round for a minute, when\n' +
    'something is due and no worker is running, or when the oldest urgent or normal message has been due for more than\n' +
    '10 minutes, a bulk one for more than 6 hours. /readyz of a process with a worker answers 503 by the same limits; a\n' +
    'process that only accepts triggers stays ready, because it stores them for good, and tells.',
  examples: ['belfry doctor', 'BELFRY_URL=https://belfry.example.com BELFRY_KEY=bf_… belfry doctor'],
  async run(args, terminal) {
    const { values } = parseArgs({ args, options: { json: { type: 'boolean' } } });
    const checks = await findings(terminal);
    const healthy = checks.every(check => check.ok);
    if (values.json) terminal.print(JSON.stringify({ healthy, checks }, null, 2));
    else {
      terminal.print(formatTable(checks.map(({ name, ok, detail }) => [ok ? 'ok  ' : 'FAIL', name, detail])));
      terminal.print(healthy ? '\nAll is well.' : '\nSomething needs your attention: see the lines marked FAIL.');
    }
    return healthy ? 0 : 1;
  },
};

async function findings(terminal: Terminal): Promise<Check[]> {
  const remote = remoteOf(terminal.config);
  if (remote)
    return examineServer(terminal.config.url!, () => remote.request<{ token: string }>('GET', '/api/system/ping/'));
  try {
    return await terminal.withDeps(deps => examine(deps, Date.now(), terminal.config));
  } catch (error) {
    return [{ name: 'database', ok: false, detail: (error as Error).message }];
  }
}

/** From outside: the server's own checks, the key, and the clocks. */
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
  const aheadMs = Math.abs(Date.parse(response.headers.get('date') ?? '') - Date.now());
  const key = await ping().then(
    ({ token }) => ({ name: 'key', ok: true, detail: `valid, named ${token}` }),
    (error: Error) => ({ name: 'key', ok: false, detail: error.message }),
  );
  return [
    { name: 'server', ok: response.ok, detail: `${url} answers ${response.status}` },
    ...checks,
    key,
    { name: 'clock', ok: !(aheadMs > 5_000), detail: `${Math.round(aheadMs / 1_000)} s from the server's` },
  ];
}
