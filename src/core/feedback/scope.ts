/** Which channels a report may be about, and which it may stop. */
import type { JsonObject } from '../json.ts';
import { domainOfMailbox } from '../mail-domain/lookups.ts';

interface ReportingChannel {
  id: number;
  type: string;
  /** Without secrets. */
  providers: readonly JsonObject[];
}

/**
 * Returns the channels whose deliveries a report to a channel may be about: the channel itself, and those that send emails
 * from one of its domains, for accounts at a service that several channels share. `others` must have the same owner: the
 * same project, or the organization itself.
 */
export function servedChannels(channel: ReportingChannel, others: readonly ReportingChannel[]): number[] {
  const domains = domainsOf(channel);
  const sharing = others.filter(
    other => other.id !== channel.id && domainsOf(other).some(one => domains.includes(one)),
  );
  return [channel.id, ...sharing.map(({ id }) => id)];
}

/**
 * Returns the projects to whose channels nothing is sent any more after a report about an address: what a channel of a project
 * reports stops only that project. Null: all channels of the organization.
 */
export function stoppedProjects(channelProjectId: number | null): number[] | null {
  return channelProjectId === null ? null : [channelProjectId];
}

function domainsOf({ type, providers }: ReportingChannel): string[] {
  if (type !== 'email') return [];
  return providers.flatMap(({ from }) => (typeof from === 'string' ? (domainOfMailbox(from) ?? []) : []));
}
