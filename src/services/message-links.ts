/** The links in messages that lead recipients to their own preferences. */

import type { Reach } from '../core/decide.ts';
import type { CategoryKind } from '../core/preferences.ts';
import { writeAcknowledgeToken, writePreferencesToken, writeUnsubscribeToken } from '../core/recipient-links.ts';
import type { RenderedLinks } from '../core/render/footer.ts';
import type { Signer } from '../lib/signer.ts';

interface Person {
  organization_id: number;
  user_id: number;
  link_generation: number;
}

interface About {
  slug: string;
  kind: CategoryKind;
}

/** The links of a message; undefined where it has none: the category is required, or nobody knows the public address. */
export type LinksFor = (person: Person, category: About, channelType: string) => RenderedLinks | undefined;

/** Where a message of a step can be acknowledged. In a room it is nobody's own, and names nobody. */
export type AcknowledgeUrlFor = (person: Person, occurrenceId: string, reach: Reach) => string;

export function createAcknowledgeLinks(signer: Signer, baseUrl: string | undefined): AcknowledgeUrlFor {
  return ({ organization_id: organizationId, user_id, link_generation }, occurrenceId, reach) => {
    if (baseUrl === undefined) return '';
    const own = reach === 'room' ? { userId: 0, generation: 0 } : { userId: user_id, generation: link_generation };
    const token = writeAcknowledgeToken({ organizationId, ...own, occurrenceId }, (text, purpose) =>
      signer.sign(text, purpose),
    );
    return `${baseUrl}/acknowledge/${token}`;
  };
}

export function createLinks(signer: Signer, baseUrl: string | undefined): LinksFor {
  const sign = (text: string, purpose: string) => signer.sign(text, purpose);
  return ({ organization_id, user_id, link_generation }, { slug, kind }, channelType) => {
    if (baseUrl === undefined || kind === 'required') return undefined;
    const holder = { organizationId: organization_id, userId: user_id, generation: link_generation };
    const unsubscribe = writeUnsubscribeToken({ ...holder, category: slug, channelType }, sign);
    return {
      unsubscribe_url: `${baseUrl}/unsubscribe/${unsubscribe}`,
      preferences_url: `${baseUrl}/preferences/${writePreferencesToken(holder, sign)}`,
    };
  };
}

/** What the token of a link in a preview, a simulation or the history of a message says. */
export const sampleToken = 'preview';

/**
 * The same for whoever looks at a message without being its recipient: a link that works would let them decide in the
 * recipient's place.
 */
export function createSampleLinks(baseUrl: string | undefined): LinksFor {
  return (_person, { kind }) =>
    baseUrl === undefined || kind === 'required'
      ? undefined
      : {
          unsubscribe_url: `${baseUrl}/unsubscribe/${sampleToken}`,
          preferences_url: `${baseUrl}/preferences/${sampleToken}`,
        };
}

export function createSampleAcknowledgeLinks(baseUrl: string | undefined): AcknowledgeUrlFor {
  return () => (baseUrl === undefined ? '' : `${baseUrl}/acknowledge/${sampleToken}`);
}
