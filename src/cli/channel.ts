import { parseArgs } from 'node:util';
import { type ChannelStateName, channelStates } from '../core/history/states.ts';
import * as channels from '../services/configuration/channels.ts';
import { getOrganization } from '../services/configuration/organizations.ts';
import type { Deps } from '../services/deps.ts';
import { type Command, type Terminal, usageError } from './command.ts';
import { formatTable } from './format.ts';
import { pause, resumeTarget } from './pause.ts';
import { remoteOf } from './remote.ts';

export const channel: Command = {
  name: 'channel',
  usage: 'list --org ORG | pause --org ORG [--reason TEXT] CHANNEL | resume --org ORG CHANNEL',
  summary: 'List, pause and resume channels.',
  details: `CHANNEL is the slug of a channel, or PROJECT/SLUG for a channel of a project.

list    List the channels with their state, bounces and complaints.
  --org ORG
  --json   print JSON
pause   Hold all messages of a channel until it is resumed.
  --org ORG
  --reason TEXT   why, for everyone who sees the pause
resume  Send the messages that are held, whether a person paused the channel or the reputation guard its bulk messages.
  --org ORG`,
  examples: [
    'belfry channel list --org acme',
    "belfry channel pause --org acme --reason 'wrong price in the offer' newsletter",
    'belfry channel resume --org acme newsletter',
  ],
  async run([action = '', ...args], terminal) {
    if (action === 'list') return list(args, terminal);
    if (action === 'pause' || action === 'resume') return change(action, args, terminal);
    throw usageError('choose list, pause or resume: see `belfry help channel`');
  },
};

type Channel = Pick<channels.ChannelDetails, 'slug' | 'project' | 'type' | 'enabled' | 'reputation'> & {
  /** These are absent from the responses of a previous version. */
  states?: ChannelStateName[];
  paused_reason?: string | null;
};

/** More channels than an organization has. */
const maxChannels = 100_000;

const listLocal = (deps: Deps, organizationId: number) =>
  channels.listChannelDetails(deps, organizationId, { after: 0, limit: maxChannels });

async function list(args: string[], terminal: Terminal): Promise<number> {
  const { values } = parseArgs({ args, options: { org: { type: 'string' }, json: { type: 'boolean' } } });
  const org = orgOf(values.org);
  const remote = remoteOf(terminal);
  const found: Channel[] = remote
    ? await remote.request<Channel[]>('GET', `/api/o/${encodeURIComponent(org)}/channel/`)
    : await terminal.withDeps(async deps => listLocal(deps, (await getOrganization(deps, org)).id));
  const shown = found.map(one => {
    const { slug, project, type, paused_reason = null, reputation } = one;
    return { channel: project ? `${project}/${slug}` : slug, type, state: stateOf(one), paused_reason, reputation };
  });
  if (values.json) terminal.print(JSON.stringify(shown, null, 2));
  else if (shown.length === 0) terminal.print('No channels.');
  else {
    const rows = shown.map(one => [
      one.channel,
      one.type,
      one.state,
      ...(one.reputation
        ? [
            String(one.reputation.messages),
            `${one.reputation.bounce_percent} %`,
            `${one.reputation.complaint_percent} %`,
          ]
        : ['', '', '']),
      one.paused_reason ?? one.reputation?.bulk_paused_reason ?? '',
    ]);
    terminal.print(formatTable([['CHANNEL', 'TYPE', 'STATE', 'MESSAGES', 'BOUNCED', 'COMPLAINED', 'REASON'], ...rows]));
  }
  return 0;
}

/** Returns what speaks against the channel, or else how it is set. */
function stateOf({ enabled, states = [enabled ? 'enabled' : 'disabled'] }: Channel): string {
  const [first, ...others] = states.map(state => (channelStates[state]?.name ?? state).toLowerCase());
  return others.join(', ') || first!;
}

/** Does what `belfry pause` and `belfry resume` do with --channel. */
async function change(action: 'pause' | 'resume', args: string[], terminal: Terminal): Promise<number> {
  const { values, positionals } = parseArgs({
    args,
    options: { org: { type: 'string' }, ...(action === 'pause' && { reason: { type: 'string' } }) },
    allowPositionals: true,
  });
  const { reason } = values as { reason?: string };
  const org = orgOf(values.org);
  const [path, ...others] = positionals;
  if (!path || others.length > 0) throw usageError('name a channel: see `belfry help channel`');
  const [first = '', second] = path.split('/');
  const target = second === undefined ? [org, '--channel', first] : [`${org}/${first}`, '--channel', second];
  if (action === 'resume') return resumeTarget(target, terminal);
  return pause.run([...target, ...(reason === undefined ? [] : ['--reason', reason])], terminal);
}

function orgOf(org: string | undefined): string {
  if (!org) throw usageError('--org is missing: see `belfry help channel`');
  return org;
}
