import { type ChannelStateName, channelStates } from '../core/history/states.ts';
import * as channels from '../services/configuration/channels.ts';
import type { Deps } from '../services/deps.ts';
import { flag, onlyOf, readArguments, readOptions, requireOption, runAction, string } from './arguments.ts';
import type { Command, Terminal } from './command.ts';
import { pause, resumeTarget } from './pause.ts';
import { remoteOf, withOrganization } from './remote.ts';
import { printRows } from './rows.ts';

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
  run: runAction('channel', {
    list,
    pause: (args, terminal) => change('pause', args, terminal),
    resume: (args, terminal) => change('resume', args, terminal),
  }),
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

async function list(args: string[], terminal: Terminal): Promise<void> {
  const values = readOptions(args, { org: string, json: flag });
  const org = requireOption('channel', '--org', values.org);
  const remote = remoteOf(terminal);
  const found: Channel[] = remote
    ? await remote.request<Channel[]>('GET', `/api/o/${encodeURIComponent(org)}/channel/`)
    : await withOrganization(terminal, org, listLocal);
  const shown = found.map(one => {
    const { slug, project, type, paused_reason = null, reputation } = one;
    return { channel: project ? `${project}/${slug}` : slug, type, state: stateOf(one), paused_reason, reputation };
  });
  printRows(terminal, shown, values, 'No channels.', {
    CHANNEL: one => one.channel,
    TYPE: one => one.type,
    STATE: one => one.state,
    MESSAGES: ({ reputation }) => String(reputation?.messages ?? ''),
    BOUNCED: ({ reputation }) => (reputation ? `${reputation.bounce_percent} %` : ''),
    COMPLAINED: ({ reputation }) => (reputation ? `${reputation.complaint_percent} %` : ''),
    REASON: ({ paused_reason, reputation }) => paused_reason ?? reputation?.bulk_paused_reason ?? '',
  });
}

/** Returns what speaks against the channel, or else how it is set. */
function stateOf({ enabled, states = [enabled ? 'enabled' : 'disabled'] }: Channel): string {
  const [first, ...others] = states.map(state => (channelStates[state]?.name ?? state).toLowerCase());
  return others.join(', ') || first!;
}

/** Does what `belfry pause` and `belfry resume` do with --channel. */
function change(action: 'pause' | 'resume', args: string[], terminal: Terminal) {
  const { values, positionals } = readArguments(args, { org: string, ...(action === 'pause' && { reason: string }) });
  const { reason } = values as { reason?: string };
  const org = requireOption('channel', '--org', values.org);
  const path = onlyOf(positionals, 'name a channel: see `belfry help channel`');
  const [first = '', second] = path.split('/');
  const target = second === undefined ? [org, '--channel', first] : [`${org}/${first}`, '--channel', second];
  if (action === 'resume') return resumeTarget(target, terminal);
  return pause.run([...target, ...(reason === undefined ? [] : ['--reason', reason])], terminal);
}
