/** What `{{ acknowledge_url }}` opens: the occurrence of one message, for whoever it was sent to. */
import { readAcknowledgeToken } from '../core/recipient-links.ts';
import { findOccurrence } from '../db/occurrences.ts';
import { findLinkedUser, findPageOrganization, type LinkedUser } from '../db/recipient-links.ts';
import { type Answers, acknowledge } from './acknowledgements.ts';
import type { Deps } from './deps.ts';

export { sampleToken } from './message-links.ts';

export interface AcknowledgeLink {
  organizationId: number;
  organization: LinkedUser['organization'];
  /** Undefined where the message stood in a room. */
  person: LinkedUser | undefined;
  identifier: string;
  /** Name of the event. */
  event: string;
  answers: Pick<Answers, 'acknowledged_at' | 'acknowledged_by' | 'resolved_at' | 'resolved_by'>;
}

/** Undefined for a link that was forged or revoked, and when its occurrence is no longer kept. */
export async function findAcknowledgeLink(deps: Deps, token: string): Promise<AcknowledgeLink | undefined> {
  const { db, signer, plans } = deps;
  const link = readAcknowledgeToken(token, signer.isSigned);
  if (!link) return undefined;
  const { organizationId, userId, generation, occurrenceId: identifier } = link;
  const person = userId === 0 ? undefined : await findLinkedUser(db, organizationId, userId);
  if (userId !== 0 && person?.link_generation !== generation) return undefined;
  const organization = person?.organization ?? (await findPageOrganization(db, organizationId));
  const occurrence = await findOccurrence(db, organizationId, identifier);
  if (!organization || !occurrence) return undefined;
  const plan = await plans.findEvent(organizationId, occurrence.event_id);
  const { acknowledged_at, acknowledged_by, resolved_at, resolved_by } = occurrence;
  return {
    organizationId,
    organization,
    person,
    identifier,
    event: plan?.name ?? '',
    answers: {
      acknowledged_at: acknowledged_at?.toISOString() ?? null,
      acknowledged_by,
      resolved_at: resolved_at?.toISOString() ?? null,
      resolved_by,
    },
  };
}

export async function acknowledgeByLink(deps: Deps, link: AcknowledgeLink): Promise<Answers> {
  return acknowledge(deps, link.organizationId, link.identifier, link.person?.username ?? 'the link in a message');
}
