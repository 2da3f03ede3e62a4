/** The page behind `{{ acknowledge_url }}`: the recipient of a message acknowledges its occurrence, or all of its bundle. */
import { isBundleId } from '../../../core/decision/bundle.ts';
import { AppError } from '../../../core/errors.ts';
import {
  type AcknowledgeState,
  acknowledgeTextsIn,
  describeAcknowledgement,
} from '../../../core/message/acknowledge-texts.ts';
import { buttonSnooze } from '../../../core/message/buttons.ts';
import { verifyAcknowledgeToken } from '../../../core/message/recipient-links.ts';
import { fillText } from '../../../core/text/text.ts';
import { findBranding, findLinkedUser, type LinkedUser } from '../../../db/audience/recipient-links.ts';
import { findOccurrence } from '../../../db/history/occurrences.ts';
import { requireHere } from '../../configuration/paths/moves.ts';
import type { Deps } from '../../deps.ts';
import { acknowledge, snooze } from './acknowledgements.ts';
import { acknowledgeBundle, describeBundleAnswer, findBundle } from './bundles.ts';

export { sampleToken } from '../../../core/text/live-text.ts';

export interface AcknowledgeLink {
  organizationId: number;
  organization: LinkedUser['organization'];
  /** Undefined when the message was sent to a chat room. */
  user: LinkedUser | undefined;
  /** Of the occurrence, or of the bundle. */
  identifier: string;
  /** Name of the event, or how many alerts it is. */
  event: string;
  describe: (locale: string) => LinkState;
}

interface LinkState {
  /** What has been done about it; undefined if it is open. */
  status: string | undefined;
  /** It can still be acknowledged. */
  isSnoozed: boolean;
}

/** Returns undefined when the link is forged or revoked, or its occurrence has been deleted. */
export async function findAcknowledgeLink(deps: Deps, token: string): Promise<AcknowledgeLink | undefined> {
  const { db, signer, plans } = deps;
  const verified = verifyAcknowledgeToken(token, signer.isSigned);
  if (!verified) return undefined;
  const { organizationId, userId, generation, occurrenceId: identifier } = verified;
  await requireHere(deps, { id: organizationId });
  const user = userId === 0 ? undefined : await findLinkedUser(db, organizationId, userId);
  if (userId !== 0 && user?.link_generation !== generation) return undefined;
  const organization = user?.organization ?? (await findBranding(db, organizationId));
  if (!organization) return undefined;
  const link = { organizationId, organization, user, identifier };
  if (isBundleId(identifier)) return findBundleLink(deps, link);
  const occurrence = await findOccurrence(db, organizationId, identifier);
  if (!occurrence) return undefined;
  const plan = await plans.findEvent(organizationId, occurrence.event_id);
  return { ...link, event: plan?.name ?? '', describe: locale => describeState(locale, occurrence) };
}

async function findBundleLink(
  deps: Deps,
  link: Omit<AcknowledgeLink, 'event' | 'describe'>,
): Promise<AcknowledgeLink | undefined> {
  const alerts = await findBundle(deps, link.organizationId, link.identifier);
  if (alerts.length === 0) return undefined;
  const total = alerts.length;
  const isOver = alerts.every(({ is_open }) => !is_open);
  const event = fillText(acknowledgeTextsIn(link.user?.locale).alerts, { count: String(total) });
  const describe = (locale: string) => ({
    status: isOver ? acknowledgeTextsIn(locale).over : undefined,
    isSnoozed: false,
  });
  return { ...link, event, describe };
}

const nameOf = ({ user }: AcknowledgeLink) => user?.username ?? 'the link in a message';

/** Returns what to answer. */
export async function acknowledgeByLink(deps: Deps, link: AcknowledgeLink, locale: string): Promise<LinkState> {
  const { organizationId, identifier } = link;
  if (!isBundleId(identifier)) {
    const act = () => acknowledge(deps, organizationId, identifier, nameOf(link), link.user?.id);
    return describeChange(locale, act);
  }
  const bundle = await acknowledgeBundle(deps, organizationId, identifier, nameOf(link), link.user?.id);
  return { status: describeBundleAnswer(locale, bundle), isSnoozed: false };
}

export async function snoozeByLink(deps: Deps, link: AcknowledgeLink, locale: string): Promise<LinkState> {
  // The page of a bundle has no such button.
  if (isBundleId(link.identifier)) return acknowledgeByLink(deps, link, locale);
  const { organizationId, identifier } = link;
  return describeChange(locale, () => snooze(deps, organizationId, identifier, { for: buttonSnooze }, nameOf(link)));
}

/** What cannot be done is said on the page. */
async function describeChange(locale: string, change: () => Promise<AcknowledgeState>): Promise<LinkState> {
  try {
    return describeState(locale, await change());
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'occurrence.not_asked') throw error;
    return { status: fillText(acknowledgeTextsIn(locale).notTaken, { reason: error.message }), isSnoozed: false };
  }
}

function describeState(locale: string, state: AcknowledgeState): LinkState {
  const isSnoozed = state.resolved_at === null && state.snoozed_by !== null;
  return { status: describeAcknowledgement(locale, state), isSnoozed };
}
