import { resolveEventPath, triggerEvent } from '../services/configuration/events.ts';
import type { Command } from './command.ts';
import { eventOptions, eventUsage, parseEventArguments } from './event-arguments.ts';
import { remoteOf } from './remote.ts';

export const trigger: Command = {
  name: 'trigger',
  usage: eventUsage,
  summary: 'Trigger an event and print the identifier of the occurrence.',
  details: `${eventOptions}
--json          print JSON`,
  examples: [
    `belfry trigger acme/shop/web/order-paid --context '{"order": "A-1", "amount": 12}'`,
    `belfry trigger acme/shop/web/order-paid --options '{"delay": "10m", "priority": "bulk"}'`,
  ],
  async run(args, terminal) {
    const { slugs, path, body, json } = parseEventArguments(args);
    const remote = remoteOf(terminal);
    const occurrence = remote
      ? (await remote.request<{ occurrence: string }>('POST', `${path}trigger/`, body)).occurrence
      : await terminal.withDeps(async deps => triggerEvent(deps, await resolveEventPath(deps, slugs), body));
    terminal.print(json ? JSON.stringify({ occurrence }) : occurrence);
    return 0;
  },
};
