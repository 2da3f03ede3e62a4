/** The page behind `{{ acknowledge_url }}`: the recipient of a message acknowledges its occurrence. */
import type { AcknowledgeState } from '../../../core/message/acknowledge-texts.ts';
import { verifyAcknowledgeToken } from '../../../core/message/recipient-links.ts';
import { findBranding, findLinkedUser, type LinkedUser } from '../../../db/audience/recipient-links.ts';
import { findOccurrence } from '../../../db/history/occurrences.ts';
import { requireHere } from '../../configuration/paths/moves.ts';
import type { Deps } from '../../deps.ts';
import { acknowledge } from './acknowledgements.ts';

export { sampleToken } from '../../../core/text/live-text.ts';

export interface AcknowledgeLink {
  organizationId: number;
  organization: LinkedUser['organization'];
  /** Undefined when the message was sent to a chat room. */
  user: LinkedUser | undefined;
  identifier: string;
  /** Name of the event. */
  event: string;
  answers: AcknowledgeState;
}

/** Returns undefined when the link is forged or revoked, or its occurrence has been deleted. */
export async function findAcknowledgeLink(deps: Deps, token: string): Promise<AcknowledgeLink | undefined> {
  const { db, signer, plans } = deps;
  const link = verifyAcknowledgeToken(token, signer.isSigned);
  if (!link) return undefined;
  const { organizationId, userId, generation, occurrenceId: identifier } = link;
  await requireHere(deps, { id: organizationId });
  const user = userId === 0 ? undefined : await findLinkedUser(db, organizationId, userId);
  if (userId !== 0 && user?.link_generation !== generation) return undefined;
  const organization = user?.organization ?? (await findBranding(db, organizationId));
  const occurrence = await findOccurrence(db, organizationId, identifier);
  if (!organization || !occurrence) return undefined;
  const plan = await plans.findEvent(organizationId, occurrence.event_id);
  return { organizationId, organization, user, identifier, event: plan?.name ?? '', answers: occurrence };
}

export async function acknowledgeByLink(deps: Deps, link: AcknowledgeLink) {
  return acknowledge(deps, link.organizationId, link.identifier, link.user?.username ?? 'the link in a message');
}
