/** The links in messages with which recipients unsubscribe, change preferences and acknowledge, and those that are tracked. */

import type { Category, CategoryKind } from '../core/configuration/nouns/category.ts';
import type { Reach } from '../core/decision/decide.ts';
import type { TenantDelivery } from '../core/feedback/identify.ts';
import { signTrackingToken, trackHtml } from '../core/feedback/tracking.ts';
import { signAcknowledgeToken, signPreferencesToken, signUnsubscribeToken } from '../core/message/recipient-links.ts';
import type { RenderedLinks } from '../core/render/footer.ts';
import { sampleToken } from '../core/text/live-text.ts';
import type { Signer } from '../lib/secrets/signer.ts';

interface LinkRecipient {
  organization_id: number;
  user_id: number;
  link_generation: number;
}

interface LinkCategory {
  slug: string;
  kind: CategoryKind;
}

/** Returns the links of a message; undefined when the category is required or the public address is not configured. */
export type LinksFor = (
  recipient: LinkRecipient,
  category: LinkCategory,
  channelType: string,
) => RenderedLinks | undefined;

/** Returns the link that acknowledges an occurrence. In a room it is shared by all readers and contains no user. */
export type AcknowledgeUrlFor = (recipient: LinkRecipient, occurrenceId: string, reach: Reach) => string;

export function createAcknowledgeLinks(signer: Signer, baseUrl: string | undefined): AcknowledgeUrlFor {
  return ({ organization_id: organizationId, user_id, link_generation }, occurrenceId, reach) => {
    if (baseUrl === undefined) return '';
    const own = reach === 'room' ? { userId: 0, generation: 0 } : { userId: user_id, generation: link_generation };
    const token = signAcknowledgeToken({ organizationId, ...own, occurrenceId }, (text, purpose) =>
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
    const unsubscribe = signUnsubscribeToken({ ...holder, category: slug, channelType }, sign);
    return {
      unsubscribe_url: `${baseUrl}/unsubscribe/${unsubscribe}`,
      preferences_url: `${baseUrl}/preferences/${signPreferencesToken(holder, sign)}`,
    };
  };
}

/** Returns the HTML of an email with tracked links and a picture that shows that it was opened. */
export type TrackMail = (delivery: TenantDelivery, html: string) => string;

/** Belfry's own links, which lead to it anyway. */
const ownPages = ['unsubscribe', 'preferences', 'acknowledge', 't'];

/** Returns undefined when the public address is not configured: then nothing can be tracked. */
export function createTracking(signer: Signer, baseUrl: string | undefined): TrackMail | undefined {
  if (baseUrl === undefined) return undefined;
  const isOwn = (target: string) => ownPages.some(page => target.startsWith(`${baseUrl}/${page}/`));
  return (delivery, html) => {
    const urlOf = (target: string | undefined) =>
      `${baseUrl}/t/${signTrackingToken({ ...delivery, target }, signer.signShort)}`;
    return trackHtml(html, {
      linkFor: target => (isOwn(target) ? undefined : urlOf(target)),
      pixelUrl: urlOf(undefined),
    });
  };
}

/** Returns whether emails of this category are tracked. Recipients cannot turn a required one off, so it never is. */
export function isTracked({ track, kind }: Category): boolean {
  return track && kind !== 'required';
}

/**
 * Creates placeholder links for viewers of a message who are not its recipient: working links would let them change the
 * recipient's preferences.
 */
export function createSampleLinks(baseUrl: string | undefined): LinksFor {
  return (_recipient, { kind }) =>
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
