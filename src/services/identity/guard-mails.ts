/**
 * Mails members who decide about what a guard holds: who may approve, when an occurrence waits or was not approved in time, and owners,
 * when the rate guard has paused something; and members who can correct a source, when it rejects what it receives. Every process with a mail server does so; the database gives each mail to one of them.
 */
import type { FastifyBaseLogger } from 'fastify';
import { explainReason } from '../../core/decision/explain.ts';
import { guardDefaults, openHoldStates } from '../../core/decision/guards/guard.ts';
import { AppError } from '../../core/errors.ts';
import {
  type ClaimedGuardMail,
  claimGuardMailsAcrossTenants,
  type GuardMailItem,
  guardMailClaimMinutes,
  postponeGuardMail,
  settleGuardMail,
} from '../../db/ledger/guard-mails.ts';
import { PollLoop } from '../../lib/process/poll-loop.ts';
import { type Claim, startClaim } from '../../lib/time/elapsed.ts';
import type { Deps } from '../deps.ts';
import { getHold } from '../history/holds.ts';
import type { Mailer, MailValues } from './mail.ts';

const everyMs = 3_000;
/** Each is an SMTP exchange. */
const maxAtOnce = 5;

type Hold = Awaited<ReturnType<typeof getHold>>;

interface Options {
  isPaused: () => boolean;
  /** The address of the console. */
  baseUrl: string;
}

export class GuardMails {
  readonly #deps: Deps & { mailer: Mailer };
  readonly #log: Pick<FastifyBaseLogger, 'warn' | 'error'>;
  readonly #options: Options;
  readonly loop: PollLoop;

  constructor(deps: Deps & { mailer: Mailer }, log: Pick<FastifyBaseLogger, 'warn' | 'error'>, options: Options) {
    this.#deps = deps;
    this.#log = log;
    this.#options = options;
    this.loop = new PollLoop(() => this.send(), { log, task: 'mailing what a guard holds', everyMs });
  }

  /** Sends what is due. */
  async send(): Promise<void> {
    while (!this.loop.isStopping && !this.#options.isPaused()) {
      const claim = startClaim(guardMailClaimMinutes * 60_000);
      const claimed = await claimGuardMailsAcrossTenants(this.#deps.pool, maxAtOnce);
      await Promise.all(claimed.map(one => this.#mail(one, claim)));
      if (claimed.length < maxAtOnce) return;
    }
  }

  async #mail(claimed: ClaimedGuardMail, claim: Claim): Promise<void> {
    const { db, mailer } = this.#deps;
    const { organization_id: organizationId } = claimed;
    const values = await describeMail(this.#deps, claimed, this.#options.baseUrl);
    if (!values) return settleGuardMail(db, organizationId, claimed, { isSent: false });
    // Another process may have claimed it.
    if (!claim.isValid()) return;
    const outcome = await mailer.send({ to: claimed.email, template: 'guard', values });
    if (outcome.ok) return settleGuardMail(db, organizationId, claimed, { isSent: true });
    if (await postponeGuardMail(db, organizationId, claimed)) return;
    this.#log.error(
      { organization: claimed.slug },
      'a mail about what a guard holds could not be sent: it is given up',
    );
  }
}

/** Returns undefined if there is nothing left to report, because everything was decided meanwhile. */
async function describeMail(
  deps: Deps,
  { organization_id, slug, name, about, items, count }: ClaimedGuardMail,
  baseUrl: string,
): Promise<MailValues | undefined> {
  const home = `${baseUrl}/o/${encodeURIComponent(slug)}`;
  const described: Described[] = [];
  for (const item of items) {
    const one = await describeItem(deps, organization_id, item, home);
    if (one) described.push(one);
  }
  if (described.length === 0) return undefined;
  const more = count - items.length;
  const total = described.length + more;
  const digest =
    about === 'rates'
      ? `${name}: the rate guard has paused ${total} keys, events or applications`
      : about === 'sources'
        ? `${name}: ${total} sources reject alerts`
        : `${name}: ${total} occurrences wait for an approval, or were not approved in time`;
  return {
    subject: total === 1 ? described[0]!.subject : digest,
    items: described,
    more:
      more > 0
        ? `There are ${more} more, which the ${about === 'sources' ? 'list of sources' : 'overview'} in the console shows.`
        : undefined,
    reason: `You get this email because you may ${about === 'sources' ? 'change sources' : 'decide about it'} in the organization ${name}.`,
  };
}

interface Described extends MailValues {
  subject: string;
  title: string;
  text: string;
  facts: string[];
  /** The page that decides about it, and the text of its button. */
  link: string;
  label: string;
  /** The same page, which asks to reject it. */
  reject?: string;
}

function describeItem(deps: Deps, organizationId: number, item: GuardMailItem, home: string) {
  if (item.kind === 'rate') return describeRate(item, home);
  if (item.kind === 'rejected') return describeRejection(item, home);
  return describeHold(deps, organizationId, item, home);
}

const rejections = {
  partly: 'Some alerts of a payload were rejected, and triggered nothing. The others were taken.',
  rejected: 'All alerts of a payload were rejected, and triggered nothing.',
  refused: 'A request was refused, because it could not be read or is not from the sender, and triggered nothing.',
};

function describeRejection(
  { path, state, error }: Extract<GuardMailItem, { kind: 'rejected' }>,
  home: string,
): Described {
  return {
    subject: `Alerts are rejected by the source ${path}`,
    title: `The source ${path}`,
    text: rejections[state],
    facts: [
      `${error}.`.replace(/\.{2,}$/, '.'),
      'You get at most one email per hour about a source, whatever it rejects.',
    ],
    link: `${home}/sources/${path.split('/').map(encodeURIComponent).join('/')}`,
    label: 'Show its payloads',
  };
}

function describeRate(
  { noun, path, reason, urgent }: Extract<GuardMailItem, { kind: 'rate' }>,
  home: string,
): Described {
  const what = `${noun === 'key' ? 'API key' : noun} ${path}`;
  return {
    subject: `Paused by the rate guard: ${what}`,
    title: `The ${what} is paused`,
    text: urgent
      ? 'It triggers far more often than ever. Everything it triggers is held, urgent messages too, until someone releases or drops it.'
      : 'It triggers far more often than ever. What is not urgent is held until someone releases or drops it. Urgent messages are sent.',
    facts: [`${reason}.`, 'Triggers are still accepted, and nothing is lost.'],
    link: home,
    label: 'Review and resume',
  };
}

async function describeHold(
  deps: Deps,
  organizationId: number,
  { kind, occurrence }: Extract<GuardMailItem, { occurrence: string }>,
  home: string,
): Promise<Described | undefined> {
  const hold = await findHold(deps, organizationId, occurrence);
  if (!hold) return undefined;
  const event = hold.event ?? 'a deleted event';
  const link = `${home}/occurrences/${occurrence}`;
  const recipients = `${countOf(hold.recipients, 'recipient')}${hold.counted ? '' : ' counted so far'}`;
  const isCanary = hold.kind === 'canary';
  const triggered = hold.triggered_by ? [`Triggered by ${hold.triggered_by}.`] : [];
  if (kind === 'expired') {
    return {
      subject: `Not approved in time: ${event}`,
      title: event,
      text: `No one approved it in time, so it has failed. Nothing ${isCanary ? 'more ' : ''}was sent.`,
      facts: [`${recipients} got no message.`, ...triggered],
      link,
      label: 'Show it',
    };
  }
  if (!(openHoldStates as readonly string[]).includes(hold.state)) return undefined;
  return {
    subject: `Approve or reject: ${event} to ${recipients}`,
    title: event,
    text: isCanary
      ? `Only a sample got a message: ${explainReason(hold.reason)}.`
      : `Nothing has been sent: ${explainReason(hold.reason)}.`,
    facts: [
      ...factsOf(hold, recipients),
      ...triggered,
      `If no one approves it until ${timeOf(hold.expires_at)}, it fails.`,
    ],
    link: `${link}?decide=approve`,
    label: 'Review and approve',
    reject: `${link}?decide=reject`,
  };
}

function factsOf({ kind, threshold, largest, channels, left_out, explanation }: Hold, recipients: string): string[] {
  const leftOut = left_out.reduce((sum, { messages }) => sum + messages, 0);
  return [
    kind === 'canary'
      ? `${recipients} wait.`
      : `${recipients}; up to ${inFull(threshold)} need no approval. ${
          largest === null ? 'It was not sent' : `The largest audience was ${inFull(largest)}`
        } in the last ${guardDefaults.days} days.`,
    ...explanation,
    ...channels.map(({ channel, messages, per_second, seconds }) => {
      const rate =
        seconds === null ? 'as fast as possible' : `${inFull(per_second!)} per second, ${durationOf(seconds)}`;
      return `${channel}: ${countOf(messages, 'message')}, ${rate}.`;
    }),
    ...(leftOut > 0
      ? [`${countOf(leftOut, 'message')} would not be sent, for example to users who have opted out.`]
      : []),
  ];
}

/** Returns undefined if its history has been deleted. */
async function findHold(deps: Deps, organizationId: number, occurrence: string): Promise<Hold | undefined> {
  try {
    return await getHold(deps, organizationId, occurrence, false);
  } catch (error) {
    if (error instanceof AppError && error.code === 'hold.not_found') return undefined;
    throw error;
  }
}

const inFull = (count: number) => count.toLocaleString('en');
const countOf = (count: number, noun: string) => `${inFull(count)} ${noun}${count === 1 ? '' : 's'}`;
const timeOf = (at: Date) => `${at.toISOString().slice(0, 16).replace('T', ' ')} UTC`;

function durationOf(seconds: number): string {
  if (seconds < 120) return countOf(seconds, 'second');
  const minutes = Math.round(seconds / 60);
  return minutes < 120 ? countOf(minutes, 'minute') : countOf(Math.round(minutes / 60), 'hour');
}
