/** What spans say. Nothing of it is about a person: no address, no name, no word of a message or of a provider's answer. */
import type { Reason } from './decide.ts';

interface Places {
  organization: { slug: string };
  project: { slug: string };
  application: { slug: string };
}

type Values = Record<string, string | number | boolean | undefined>;

/** Where something belongs: the event is prj/app/evt, as everywhere. */
export function eventAttributes({ organization, project, application }: Places, eventSlug: string): Values {
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

/** `reason` is a stable code. */
export function outcomeAttributes(status: string, reason: Reason | string | null): Values {
  return { 'belfry.status': status, 'belfry.reason': reason ?? undefined };
}
