import { AppError } from '../core/errors.ts';
import { limits } from '../core/text/text.ts';
import { findRow } from '../db/configuration/rows.ts';
import { listKeys } from '../db/identity/keys.ts';
import * as pauses from '../services/configuration/pauses.ts';
import type { Deps } from '../services/deps.ts';
import { flag, onlyOf, readArguments, string } from './arguments.ts';
import { type Command, type Terminal, usageError } from './command.ts';
import { printable } from './format.ts';
import { remoteOf } from './remote.ts';

/** The ways to name what is paused, with the other options of a command. */
export const usageWith = (options: string): string =>
  ['ORG[/PRJ[/APP[/EVT]]]', 'ORG[/PRJ] --channel CHANNEL', 'ORG --key KEY'].map(one => `${one} ${options}`).join(' | ');

export const pause: Command = {
  name: 'pause',
  usage: usageWith('[--reason TEXT] [--json]'),
  summary: 'Stop sending: hold the messages of an organization or of a part of it.',
  details: `Triggers are still accepted. Everything that is not sent yet is held until \`belfry resume\` sends or drops it; a message that
a provider is just accepting may still arrive. Name what to pause:

ORG                    the whole organization
ORG/PRJ                a project
ORG/PRJ/APP            an application
ORG/PRJ/APP/EVT        an event
ORG --channel CHANNEL  a channel of the organization; ORG/PRJ --channel CHANNEL for one of a project
ORG --key KEY          everything that was triggered with an API key: its name or id

--reason TEXT  why, in one line, for everyone who sees the pause
--json         print the result as JSON`,
  examples: [
    "belfry pause acme --reason 'investigating'",
    "belfry pause acme/shop/web/order-paid --reason 'wrong price in the mail'",
    'belfry pause acme --key importer',
  ],
  async run(args, terminal) {
    const { values, positionals } = readArguments(args, { ...targetOptions, reason: string });
    const { reason, json } = values;
    if (reason !== undefined && (reason.length > limits.reason || /[\r\n]/.test(reason)))
      throw usageError(`--reason must be a single line of at most ${limits.reason} characters`);
    const target = parseTarget(positionals, values, 'pause');
    await change(terminal, target, {
      action: 'pause',
      body: reason === undefined ? {} : { reason },
      run: (deps, organizationId, found) => pauses.pause(deps, organizationId, found, reason),
    });
    terminal.print(
      json
        ? JSON.stringify({ paused: true })
        : `Paused ${printable(target.name)}. Messages are held until you resume it.`,
    );
  },
};

/** Ends a pause, for `belfry resume`. */
export async function resumeTarget(args: string[], terminal: Terminal): Promise<void> {
  const { values, positionals } = readArguments(args, { ...targetOptions, 'per-second': string, drop: flag });
  const { 'per-second': rate, drop = false, json } = values;
  if (rate !== undefined && !/^[1-9]\d{0,4}$/.test(rate))
    throw usageError('--per-second must be a number from 1 to 99999');
  if (rate !== undefined && drop) throw usageError('choose --per-second or --drop, not both');
  const perSecond = rate === undefined ? undefined : Number(rate);
  const target = parseTarget(positionals, values, 'resume');
  const result = await change<pauses.ResumeResult>(terminal, target, {
    action: 'resume',
    body: { ...(perSecond !== undefined && { per_second: perSecond }), ...(drop && { drop }) },
    run: (deps, organizationId, found) => pauses.resume(deps, organizationId, found, { perSecond, drop }),
  });
  const { released, dropped } = result;
  if (json) terminal.print(JSON.stringify({ paused: false, released, dropped }));
  else {
    const counts = [
      drop && `Dropped: ${dropped}.`,
      (!drop || released > 0) && `Released from pauses: ${released}${rate ? `, ${rate} per second` : ''}.`,
    ];
    terminal.print([`Resumed ${printable(target.name)}.`, ...counts.filter(Boolean)].join(' '));
  }
}

const targetOptions = { channel: string, key: string, json: flag };

interface Target {
  /** As the user named it. */
  name: string;
  slugs: string[];
  channel: string | undefined;
  key: string | undefined;
}

function parseTarget(
  positionals: string[],
  { channel, key }: { channel?: string | undefined; key?: string | undefined },
  command: string,
): Target {
  const hint = `name what to ${command}, such as ORG or ORG/PRJ/APP/EVT: see \`belfry help ${command}\``;
  const path = onlyOf(positionals, hint);
  const slugs = path.split('/');
  if (slugs.length > 4 || slugs.includes('')) throw usageError(hint);
  if (channel !== undefined && key !== undefined) throw usageError('choose --channel or --key, not both');
  if (key !== undefined && slugs.length > 1) throw usageError('--key needs ORG alone: keys belong to the organization');
  if (channel !== undefined && slugs.length > 2) throw usageError('--channel needs ORG or ORG/PRJ');
  const [, prj] = slugs;
  const channelPath = prj ? `${prj}/${channel}` : channel;
  const name = channel !== undefined ? channelPath! : key !== undefined ? `key ${key}` : path;
  return { name, slugs, channel, key };
}

interface Change<Result> {
  action: 'pause' | 'resume';
  body: object;
  run: (deps: Deps, organizationId: number, found: pauses.PauseTarget) => Promise<Result>;
}

async function change<Result>(
  terminal: Terminal,
  target: Target,
  { action, body, run }: Change<Result>,
): Promise<Result> {
  const remote = remoteOf(terminal);
  if (!remote)
    return terminal.withDeps(async deps => {
      const { organizationId, found } = await find(deps, target);
      return run(deps, organizationId, found);
    });
  const [org = '', ...below] = target.slugs.map(encodeURIComponent);
  const parts = ['p', 'a', 'e'].flatMap((letter, i) => (below[i] === undefined ? [] : [letter, below[i]]));
  if (target.channel !== undefined) parts.push('c', encodeURIComponent(target.channel));
  if (target.key !== undefined) {
    const keys = await remote.request<{ id: string; name: string }[]>('GET', `/api/o/${org}/k/`);
    parts.push('k', encodeURIComponent(keyOf(keys, target.key).id));
  }
  return remote.request<Result>('POST', `/api/${['o', org, ...parts, action].join('/')}/`, body);
}

const missing = [
  ['organization.not_found', 'organization'],
  ['project.not_found', 'project'],
  ['application.not_found', 'application'],
  ['event.not_found', 'event'],
] as const;

/** Finds what to pause in the database. */
async function find(deps: Deps, { slugs: [org = '', prj, app, evt], channel, key }: Target) {
  const path = await deps.tenantCache.resolvePath({ org, prj, app, evt });
  const { organization, project, application, event } = path ?? {};
  const found = [organization, project, application, event].filter(Boolean).length;
  const named = [org, prj, app, evt].filter(slug => slug !== undefined);
  if (!organization || found < named.length) {
    const [code, noun] = missing[found]!;
    throw new AppError(code, `there is no ${noun} ${named.slice(0, found + 1).join('/')}`);
  }
  const organizationId = organization.id;
  const findTarget = async (): Promise<pauses.PauseTarget> => {
    if (key !== undefined) {
      const { id, name } = keyOf(await listKeys(deps.db, organizationId), key);
      return { noun: 'key', id, path: name };
    }
    if (channel !== undefined) {
      const row = await findRow(deps.db, organizationId, 'channel', { parent: project?.id ?? null, slug: channel });
      if (!row) throw new AppError('channel.not_found', `there is no channel ${channel}`);
      return { noun: 'channel', id: row.id, path: [prj, channel].filter(Boolean).join('/') };
    }
    const slugs = [prj, app, evt].filter(Boolean).join('/');
    if (event) return { noun: 'event', id: event.id, path: slugs };
    if (application) return { noun: 'application', id: application.id, path: slugs };
    if (project) return { noun: 'project', id: project.id, path: slugs };
    return { noun: 'organization', id: organizationId, path: org };
  };
  return { organizationId, found: await findTarget() };
}

function keyOf<Key extends { id: string; name: string }>(keys: Key[], idOrName: string): Key {
  const found = keys.find(({ id }) => id === idOrName) ?? keys.find(({ name }) => name === idOrName);
  if (!found) throw new AppError('key.not_found', `there is no key ${idOrName}`);
  return found;
}
