import { writeFile } from 'node:fs/promises';
import { type TypedEvent, toTypeScript } from '../core/context-schema/types.ts';
import { listEventsWithSchemas } from '../services/configuration/events.ts';
import { onlyOf, readArguments, string } from './arguments.ts';
import type { Command } from './command.ts';
import { remoteOf } from './remote.ts';

export const types: Command = {
  name: 'types',
  usage: 'ORG [--output FILE]',
  summary: "Print TypeScript types of an organization's events and contexts, for @belfry/client.",
  details: `--output FILE  write to this file instead of standard output, such as src/belfry.d.ts

With the file in your program, triggering an event that does not exist, or with a context that lacks a field, is a compile
error. Events without a schema accept any context. With BELFRY_URL, the key needs the permission event:list.`,
  examples: ['belfry types acme --output src/belfry.d.ts'],
  async run(args, terminal) {
    const { values, positionals } = readArguments(args, { output: string });
    const slug = onlyOf(positionals, 'name one organization: belfry types ORG');
    const remote = remoteOf(terminal);
    const path = `/api/o/${encodeURIComponent(slug)}/event/?include=context_schema`;
    const events = remote
      ? await remote.request<TypedEvent[]>('GET', path)
      : await terminal.withDeps(deps => listEventsWithSchemas(deps, slug));
    const text = toTypeScript(slug, events);
    if (values.output === undefined) terminal.print(text.trimEnd());
    else await writeFile(values.output, text);
  },
};
