import { writeFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { type TypedEvent, toTypeScript } from '../core/context-types.ts';
import { listTypedEvents } from '../services/events.ts';
import { type Command, wrongUsage } from './command.ts';
import { remoteOf } from './remote.ts';

export const types: Command = {
  name: 'types',
  usage: 'ORG [--output FILE]',
  summary: "Prints the organization's events and their contexts as types for @belfry/client.",
  details: `--output  the file to write instead, such as src/belfry.d.ts

With that file in your program, a trigger of an event that does not exist, or with a context that lacks a field, no longer
compiles. An event without a schema takes any context. With BELFRY_URL the key needs event:list.`,
  examples: ['belfry types acme --output src/belfry.d.ts'],
  async run(args, terminal) {
    const { values, positionals } = parseArgs({
      args,
      options: { output: { type: 'string' } },
      allowPositionals: true,
    });
    const [slug, ...others] = positionals;
    if (slug === undefined || others.length > 0) throw wrongUsage('name one organization: belfry types ORG');
    const remote = remoteOf(terminal.config);
    const path = `/api/o/${encodeURIComponent(slug)}/event/?include=context_schema`;
    const events = remote
      ? await remote.request<TypedEvent[]>('GET', path)
      : await terminal.withDeps(deps => listTypedEvents(deps, slug));
    const text = toTypeScript(slug, events);
    if (values.output === undefined) terminal.print(text.trimEnd());
    else await writeFile(values.output, text);
    return 0;
  },
};
