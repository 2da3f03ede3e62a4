import { parseArgs } from 'node:util';
import { isObject, type JsonObject } from '../core/json.ts';
import { parse } from '../core/schema.ts';
import { TriggerBody } from '../core/trigger.ts';
import { triggerEvent } from '../services/occurrences.ts';
import { getEvent } from '../services/organizations.ts';
import { type Command, wrongUsage } from './command.ts';
import { remoteOf } from './remote.ts';

export const trigger: Command = {
  name: 'trigger',
  usage: 'ORG/PRJ/APP/EVT [--context JSON] [--options JSON] [--json]',
  summary: 'Triggers an event and prints the identifier of the occurrence.',
  examples: [
    `belfry trigger acme/shop/web/order-paid --context '{"order": "A-1", "amount": 12}'`,
    `belfry trigger acme/shop/web/order-paid --options '{"delay": "10m", "priority": "bulk"}'`,
  ],
  async run(args, terminal) {
    const { values, positionals } = parseArgs({
      args,
      options: { context: { type: 'string' }, options: { type: 'string' }, json: { type: 'boolean' } },
      allowPositionals: true,
    });
    const slugs = positionals[0]?.split('/') ?? [];
    if (positionals.length !== 1 || slugs.length !== 4 || slugs.some(slug => slug === '')) {
      throw wrongUsage('name one event as ORG/PRJ/APP/EVT');
    }
    const [org, prj, app, evt] = slugs as [string, string, string, string];
    const context = parseJson('--context', values.context);
    const options = parseJson('--options', values.options);
    const body = parse(TriggerBody, { ...(context && { context }), ...(options && { options }) });

    const remote = remoteOf(terminal.config);
    const path = `/api/o/${[org, 'p', prj, 'a', app, 'e', evt].map(encodeURIComponent).join('/')}/trigger/`;
    const occurrence = remote
      ? (await remote.request<{ occurrence: string }>('POST', path, body)).occurrence
      : await terminal.withDeps(async deps =>
          triggerEvent(deps, await getEvent(deps, { org, prj, app, evt }), {
            context: body.context as JsonObject | undefined,
            options: body.options,
          }),
        );
    terminal.print(values.json ? JSON.stringify({ occurrence }) : occurrence);
    return 0;
  },
};

function parseJson(option: string, text: string | undefined): JsonObject | undefined {
  if (text === undefined) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    if (isObject(value)) return value;
  } catch {
    // said below
  }
  throw wrongUsage(`${option} must be a JSON object such as '{"name": "value"}'`);
}
