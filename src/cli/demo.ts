import { countOf } from '../lib/count-of.ts';
import type { Deps } from '../services/deps.ts';
import { type Demo, ensureDemo, removeDemo } from '../services/operations/demo/demo.ts';
import { createDemoHistory, type DemoCounts, demoMark } from '../services/operations/demo/history.ts';
import { flag, readOptions } from './arguments.ts';
import { type Command, requireDatabaseHere } from './command.ts';

export const demo: Command = {
  name: 'demo',
  usage: '[--json] | --remove [--json]',
  summary: 'Add a month of demo data, or remove it.',
  details: `Creates the organization \`demo\` with sample events, channels and people, and 30 days of generated history: messages that
were sent, retried, bounced and suppressed, a digest, and escalations that were acknowledged. Its channels are sandboxes:
nothing is sent. Every generated occurrence has the correlation id ${demoMark}.

The first start on an empty embedded database does the same. Nothing else is changed, and an organization \`demo\` that is
something else is left alone. The key and the password are printed once; the account can access the demo only.

--remove  Delete the organization \`demo\` with everything in it, also what you added to it, and its account.
--json    Print the result as JSON.

Works directly on the database, also while a server is running.`,
  examples: ['belfry demo', 'belfry demo --remove'],
  async run(args, terminal) {
    const values = readOptions(args, { remove: flag, json: flag });
    requireDatabaseHere(terminal);
    const print = (text: string, result: object) => terminal.print(values.json ? JSON.stringify(result) : text);
    if (values.remove) {
      const result = await terminal.withDeps(removeDemo);
      const account = result.account ? ' and the account admin@demo.test' : '';
      print(result.removed ? `Removed the organization demo${account}.` : 'There is no demo to remove.', result);
      return;
    }
    const { created, added } = await terminal.withDeps(addDemo);
    print(describe(created, added), {
      ...(created && { account: created.signIn.email, password: created.signIn.password, key: created.key }),
      occurrences: added?.occurrences ?? 0,
      deliveries: added?.deliveries ?? 0,
    });
  },
};

async function addDemo(deps: Deps): Promise<{ created: Demo | undefined; added: DemoCounts | undefined }> {
  const created = await ensureDemo(deps);
  return { created, added: await createDemoHistory(deps, Date.now()) };
}

function describe(created: Demo | undefined, added: DemoCounts | undefined): string {
  const lines = [
    ...(created
      ? [
          'Created the organization demo.',
          `  Sign in   ${created.signIn.email}`,
          `  Password  ${created.signIn.password}  (shown only once)`,
          `  API key   ${created.key}  (shown only once)`,
        ]
      : []),
    added
      ? `Added 30 days of generated history: ${countOf(added.occurrences, 'occurrence')} with ${countOf(added.deliveries, 'message')}, all with the correlation id ${demoMark}.`
      : 'The demo and its history are there already.',
    'Remove it with: belfry demo --remove',
  ];
  return lines.join('\n');
}
