import { type Reason, reasons } from '../core/decide.ts';
import { getEventPlace } from '../services/events.ts';
import { type Simulated, type Simulation, simulate as simulateEvent } from '../services/simulation.ts';
import type { SimulatedRun } from '../services/step-simulation.ts';
import type { Command } from './command.ts';
import { eventUsage, parseEventArguments } from './event-arguments.ts';
import { printable } from './format.ts';
import { remoteOf } from './remote.ts';

/** More of them with --json. */
const mostShown = 5;
const mostLines = 20;

export const simulate: Command = {
  name: 'simulate',
  usage: eventUsage,
  summary: 'Tells who would get what of an event, and why not; nothing is sent.',
  details: `Takes what \`trigger\` takes. Shows for each notification how many messages would be sent and why others would
not, then the first ${mostShown} messages, and the variables that the context lacks.
--json  all that is known, with the first 50 messages`,
  examples: [
    `belfry simulate acme/shop/web/order-paid --context '{"order": "A-1", "amount": 12}'`,
    `belfry simulate acme/shop/web/order-paid --options '{"limit_to": ["jane@acme.test"]}'`,
  ],
  async run(args, terminal) {
    const { slugs, path, body, json } = parseEventArguments(args);
    const remote = remoteOf(terminal.config);
    const simulation = remote
      ? await remote.request<Simulation>('POST', `${path}simulate/`, body)
      : await terminal.withDeps(async deps => simulateEvent(deps, await getEventPlace(deps, slugs), body, true));
    terminal.print(json ? JSON.stringify(simulation, null, 2) : describe(simulation));
    return 0;
  },
};

function describe({ complete, notifications, recipients_shown, deliveries }: Simulation): string {
  if (notifications.length === 0) return 'The event has no notifications: nobody would be told.';
  const sent = deliveries.filter(({ reason, due_at }) => reason === null || due_at !== null);
  const shown = sent.slice(0, mostShown);
  const total = notifications.reduce((sum, notification) => sum + notification.deliveries, 0);
  const missing = [...new Set(sent.flatMap(({ message }) => message?.missing ?? []))];
  return [
    ...notifications.flatMap(describeNotification),
    ...(complete ? [] : ['There are more recipients; only the first ones were looked at.']),
    ...(recipients_shown ? [] : ['', 'Recipients and messages are shown to a key with the permission user:read.']),
    ...shown.flatMap(describeMessage),
    ...(total > shown.length && shown.length > 0 ? ['', `… and ${total - shown.length} more.`] : []),
    ...(missing.length > 0 ? ['', `The context lacks: ${missing.join(', ')}`] : []),
  ]
    .map(line => printable(line).trimEnd())
    .join('\n');
}

function describeNotification(notification: Simulation['notifications'][number]): string[] {
  const { name, reason, deliveries, suppressed, held = {}, steps = null } = notification;
  if (reason !== null) return [`${name}: for nobody, ${inWords(reason)}`];
  return [
    `${name}: ${deliveries} would be sent${steps ? ' if nobody answers' : ''}`,
    ...(steps ?? []).map(describeRun),
    ...Object.entries(held).map(([why, count]) => `  ${count} of them would wait: ${inWords(why)}`),
    ...Object.entries(suppressed).map(([why, count]) => `  ${count} would not: ${inWords(why)}`),
  ];
}

function describeRun(run: SimulatedRun): string {
  const { at, channels, recipients, unless, deliveries, suppressed, step } = run;
  const to = recipients === null ? '' : ` to ${recipients}`;
  const condition = unless === null ? '' : `, unless ${unless}`;
  const others = Object.entries(suppressed).map(([why, count]) => `; ${count} would not: ${inWords(why)}`);
  return `  ${at} step ${step}: ${deliveries} by ${channels.join(', ')}${to}${condition}${others.join('')}`;
}

function describeMessage(simulated: Simulated): string[] {
  const { user, address, channel, notification, message, problem, due_at } = simulated;
  const to = address === null || address === user ? user : `${user} (${address})`;
  const when = due_at ? `, not before ${due_at}` : '';
  const heading = ['', `To ${to} by ${channel}, ${notification}${when}:`];
  if (!message) return [...heading, `  cannot be written: ${problem ?? 'it has no message'}`];
  const lines = message.text.split('\n');
  const text = lines.length > mostLines ? [...lines.slice(0, mostLines), '…'] : lines;
  return [...heading, `  Subject: ${message.title}`, ...text.map(line => `  ${line}`)];
}

function inWords(reason: string): string {
  return Object.hasOwn(reasons, reason) ? `${reasons[reason as Reason]} (${reason})` : reason;
}
