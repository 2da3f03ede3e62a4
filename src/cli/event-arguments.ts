/** Arguments of `trigger` and `simulate`: an event and the body of the request. */
import { isObject, type JsonObject } from '../core/json.ts';
import { parse } from '../core/schema.ts';
import { TriggerBody, type TriggerOptions } from '../core/trigger.ts';
import { flag, parseTime, readArguments, string, strings } from './arguments.ts';
import { usageError } from './command.ts';

interface EventArguments {
  slugs: { org: string; prj: string; app: string; evt: string };
  /** URL path of the event in the API. */
  path: string;
  body: { context?: JsonObject; options?: TriggerOptions };
  /** Paths of files to attach. */
  files: string[];
  at: Date | undefined;
  json: boolean;
}

export const eventOptions = `--context JSON  the context of the occurrence, a JSON object
--options JSON  options of the trigger, such as delay, priority or limit_to`;

export const eventUsage = 'ORG/PRJ/APP/EVT [--context JSON] [--options JSON] [--json]';

/** Accepts `--attach` and `--at` only if the command does. */
export function parseEventArguments(args: string[], { attaches = false, takesTime = false } = {}): EventArguments {
  const { values, positionals } = readArguments(args, {
    context: string,
    options: string,
    json: flag,
    ...(attaches && { attach: strings }),
    ...(takesTime && { at: string }),
  });
  const slugs = positionals[0]?.split('/') ?? [];
  if (positionals.length !== 1 || slugs.length !== 4 || slugs.some(slug => slug === '')) {
    throw usageError('name one event as ORG/PRJ/APP/EVT (organization, project, application and event)');
  }
  const [org, prj, app, evt] = slugs as [string, string, string, string];
  const context = parseJson('--context', values.context);
  const options = parseJson('--options', values.options);
  return {
    slugs: { org, prj, app, evt },
    path: `/api/o/${[org, 'p', prj, 'a', app, 'e', evt].map(encodeURIComponent).join('/')}/`,
    body: parse(TriggerBody, { ...(context && { context }), ...(options && { options }) }) as EventArguments['body'],
    files: (values.attach as string[] | undefined) ?? [],
    at: parseTime('--at', values.at as string | undefined),
    json: values.json ?? false,
  };
}

function parseJson(option: string, text: string | undefined): JsonObject | undefined {
  if (text === undefined) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    if (isObject(value)) return value;
  } catch {
    // Falls through to the error below.
  }
  throw usageError(`${option} must be a JSON object such as '{"name": "value"}'`);
}
