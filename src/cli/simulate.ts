import { type Reason, reasons } from '../core/decision/decide.ts';
import { describeSilence } from '../core/decision/silences.ts';
import { resolveEventPath } from '../services/configuration/events.ts';
import {
  type SimulatedDelivery,
  type Simulation,
  simulate as simulateEvent,
} from '../services/configuration/try-out/simulation.ts';
import type { SimulatedRun } from '../services/configuration/try-out/step-simulation.ts';
import type { Command } from './command.ts';
import { eventOptions, eventUsage, parseEventArguments } from './event-arguments.ts';
import { printable } from './format.ts';
import { remoteOf } from './remote.ts';

/** Messages in the text output. */
const maxShown = 5;
const maxLines = 20;

export const simulate: Command = {
  name: 'simulate',
  usage: eventUsage.replace('[--json]', '[--at TIME] [--json]'),
  summary: 'Show who would receive what for an event, and who would not and why. Nothing is sent.',
  details: `${eventOptions}
--at TIME       as if triggered then, such as 2027-01-09T03:00:00Z: who would be on call?
--json          print all details as JSON, with the first 50 messages

Takes the same arguments as \`trigger\`. Shows for each notification how many messages would be sent and why others would
not, then the first ${maxShown} messages, and the variables that are missing in the context.`,
  examples: [
    `belfry simulate acme/shop/web/order-paid --context '{"order": "A-1", "amount": 12}'`,
    `belfry simulate acme/shop/web/order-paid --options '{"limit_to": ["jane@acme.test"]}'`,
    'belfry simulate acme/ops/monitoring/page --at 2030-01-05T03:00:00Z',
  ],
  async run(args, terminal) {
    const { slugs, path, body: trigger, at, json } = parseEventArguments(args, { takesTime: true });
    const body = { ...trigger, ...(at && { at: at.toISOString() }) };
    const remote = remoteOf(terminal);
    const simulation = remote
      ? await remote.request<Simulation>('POST', `${path}simulate/`, body)
      : await terminal.withDeps(async deps => simulateEvent(deps, await resolveEventPath(deps, slugs), body, 'all'));
    terminal.print(json ? JSON.stringify(simulation, null, 2) : describe(simulation));
  },
};

function describe({ at, complete, notifications, recipients_shown, silence, deliveries }: Simulation): string {
  if (notifications.length === 0) return 'The event has no notifications: nothing would be sent.';
  const sent = deliveries.filter(({ reason, due_at }) => reason === null || due_at !== null);
  const shown = sent.slice(0, maxShown);
  const total = notifications.reduce((sum, notification) => sum + notification.deliveries, 0);
  const missing = [...new Set(sent.flatMap(({ message }) => message?.missing ?? []))];
  return [
    ...(silence ? [describeSilenced(silence), ''] : []),
    ...notifications.flatMap(notification => describeNotification(notification, at)),
    ...(complete ? [] : ['There are more recipients; only the first ones were evaluated.']),
    ...(recipients_shown ? [] : ['', 'To see recipients and messages, use a key with the permission user:read.']),
    ...shown.flatMap(describeMessage),
    ...(total > shown.length && shown.length > 0 ? ['', `… and ${total - shown.length} more.`] : []),
    ...(missing.length > 0 ? ['', `Missing in the context: ${missing.join(', ')}`] : []),
  ]
    .map(line => printable(line).trimEnd())
    .join('\n');
}

/** Servers of earlier versions have no silences. */
function describeSilenced({ effect, until, ...silence }: NonNullable<Simulation['silence']>): string {
  const what = effect === 'held' ? 'It would wait for the end of a silence' : 'Nothing would be sent: it is silenced';
  return `${what} ${describeSilence(silence, new Date(until))}. Without it:`;
}

function describeNotification(notification: Simulation['notifications'][number], at: string): string[] {
  const { name, reason, deliveries, suppressed, held = {}, steps = null } = notification;
  if (reason !== null) return [`${name}: nothing would be sent: ${describeReason(reason)}`];
  return [
    `${name}: ${deliveries} would be sent${steps ? ' if no one acknowledges' : ''}`,
    ...(steps ?? []).map(run => describeRun(run, at)),
    ...Object.entries(held).map(([why, count]) => `  ${count} of them would wait: ${describeReason(why)}`),
    ...Object.entries(suppressed).map(([why, count]) => `  ${count} would not: ${describeReason(why)}`),
  ];
}

function describeRun(run: SimulatedRun, triggeredAt: string | undefined): string {
  // Servers of earlier versions have no rotations and no schedules.
  const { at, channels, recipients, reason = null, unless, round_robin = false, deliveries, suppressed, step } = run;
  const to = `${recipients === null ? '' : ` to ${recipients}`}${round_robin ? ', one in turn' : ''}`;
  const condition = unless === null ? '' : `, unless ${unless}`;
  const others = Object.entries(suppressed).map(([why, count]) => `; ${count} would not: ${describeReason(why)}`);
  const gap = reason === null ? '' : `; ${describeReason(reason)}`;
  // Servers of earlier versions do not say when it would be triggered.
  const after = triggeredAt ? ` (after ${minutesBetween(triggeredAt, at)} min)` : '';
  return `  ${at}${after} step ${step}: ${deliveries} by ${channels.join(', ')}${to}${condition}${gap}${others.join('')}`;
}

function minutesBetween(from: string, until: string): number {
  return Math.round((Date.parse(until) - Date.parse(from)) / 6_000) / 10;
}

function describeMessage(simulated: SimulatedDelivery): string[] {
  const { user, address, channel, notification, message, problem, due_at } = simulated;
  const to = address === null || address === user ? user : `${user} (${address})`;
  const when = due_at ? `, not before ${due_at}` : '';
  const heading = ['', `To ${to} by ${channel}, ${notification}${when}:`];
  if (!message) return [...heading, `  cannot be rendered: ${problem ?? 'it has no message'}`];
  const lines = message.text.split('\n');
  const text = lines.length > maxLines ? [...lines.slice(0, maxLines), '…'] : lines;
  return [...heading, `  Subject: ${message.title}`, ...text.map(line => `  ${line}`)];
}

function describeReason(reason: string): string {
  return Object.hasOwn(reasons, reason) ? `${reasons[reason as Reason]} (${reason})` : reason;
}
