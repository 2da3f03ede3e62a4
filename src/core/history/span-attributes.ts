/** Attributes of spans. They contain no personal data: no address, no name, no text of a message or a provider's response. */
import type { Reason } from '../decision/decide.ts';

interface EventParents {
  organization: { slug: string };
  project: { slug: string };
  application: { slug: string };
}

type Values = Record<string, string | number | boolean | undefined>;

/** Returns the organization and the path of the event, project/application/event. */
export function eventAttributes({ organization, project, application }: EventParents, eventSlug: string): Values {
  return {
    'belfry.organization': organization.slug,
    'belfry.event': `${project.slug}/${application.slug}/${eventSlug}`,
  };
}

export function occurrenceAttributes(identifier: string): Values {
  return { 'belfry.occurrence': identifier };
}

export function channelAttributes({ slug, type }: { slug: string; type: string }): Values {
  return { 'belfry.channel': slug, 'belfry.channel.type': type };
}

/** `reason` is a stable reason code. */
export function outcomeAttributes(status: string, reason: Reason | string | null): Values {
  return { 'belfry.status': status, 'belfry.reason': reason ?? undefined };
}
