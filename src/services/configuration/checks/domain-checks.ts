/** Checks the DNS records of the domains that channels send from: SPF, DKIM, DMARC, MX, and the names of mail servers. */
import { AppError } from '../../../core/errors.ts';
import { isObject, type JsonObject } from '../../../core/json.ts';
import { lookUp } from '../../../core/lookup.ts';
import type { ExamineOptions, MailSender } from '../../../core/mail-domain/examine.ts';
import type { Area, Finding } from '../../../core/mail-domain/finding.ts';
import { type Answer, domainOfMailbox, keyOf, readDomain } from '../../../core/mail-domain/lookups.ts';
import { findChannelDetails } from '../../../db/configuration/channels.ts';
import { listOrganizationsAcrossTenants } from '../../../db/configuration/organizations.ts';
import { listRows } from '../../../db/configuration/rows.ts';
import { type DnsLimits, DnsSession } from '../../../lib/network/dns.ts';
import { createGuard } from '../../../lib/network/outbound-guard.ts';
import { currentTime } from '../../../lib/time/clock.ts';
import { openSecrets, type SealedChannel } from '../../../pipeline/channel-secrets.ts';
import type { Deps } from '../../deps.ts';

/** Each round follows one more level of includes, of which SPF allows ten. */
const maxRounds = 20;

export interface DomainCheck {
  domain: string;
  /** Channels or providers that send from it. */
  senders: string[];
  checked: Area[];
  findings: Finding[];
}

/** A provider entry of a channel that sends from a domain. */
export interface DomainSender extends MailSender {
  domain: string;
}

/** Checks the domains that a channel sends from. Channels without a sender address have none. */
export async function checkChannelDomains(
  deps: Deps,
  organizationId: number,
  channelId: number,
  listener: string | undefined,
): Promise<DomainCheck[]> {
  const channel = await findChannelDetails(deps.db, organizationId, channelId);
  if (!channel) throw new AppError('channel.not_found', 'the channel has been deleted in the meantime');
  const senders = sendersOf(deps, organizationId, channel, (use, i) => (i === 0 ? use : `${use} (provider ${i + 1})`));
  if (senders.length === 0) return [];
  const { domainCheckLimits } = deps;
  return domainCheckLimits.run(organizationId, currentTime(), () => {
    const domains = [...new Set(senders.map(({ domain }) => domain))];
    return checkDomains(domains, senders, { ...domainCheckLimits, listener });
  });
}

interface CheckOptions {
  servers: readonly string[];
  limits?: DnsLimits;
  listener?: string | undefined;
}

/** Checks domains within one set of limits. */
export async function checkDomains(
  domains: readonly string[],
  senders: readonly DomainSender[],
  { servers, limits, listener }: CheckOptions,
): Promise<DomainCheck[]> {
  // Loaded when it is first used, because the list of public suffixes takes a megabyte of memory.
  const { examineDomain } = await import('../../../core/mail-domain/examine.ts');
  const { allows: isPublic } = createGuard([]);
  // An address, or a name such as localhost, cannot be in an MX record.
  const options: ExamineOptions = { isPublic, listener: listener && readDomain(listener) };
  const dns = new DnsSession(servers, limits);
  const answers = new Map<string, Answer>();
  try {
    const checks: DomainCheck[] = [];
    for (const domain of domains) {
      const own = senders.filter(sender => sender.domain === domain);
      let examination = examineDomain(domain, own, answers, options);
      for (let round = 1; examination.wanted.length > 0; round++) {
        const found = await Promise.all(
          examination.wanted.map(async question => {
            const { type, name } = question;
            const answer: Answer =
              round > maxRounds
                ? { status: 'failed', reason: 'the records are nested too deeply' }
                : await dns.lookUp(type, name);
            return [keyOf(question), answer] as const;
          }),
        );
        for (const [key, answer] of found) answers.set(key, answer);
        examination = examineDomain(domain, own, answers, options);
      }
      const { checked, findings } = examination;
      checks.push({ domain, senders: own.map(({ name }) => name), checked, findings });
    }
    return checks;
  } finally {
    dns.close();
  }
}

/** Returns what all channels of an installation send from a domain. */
export async function listSendersAcrossTenants(deps: Deps, domain: string): Promise<DomainSender[]> {
  const senders: DomainSender[] = [];
  for (const { id, slug } of await listOrganizationsAcrossTenants(deps.db)) {
    const channels = (await listRows(deps.db, id, 'channel')).filter(
      ({ type, enabled }) => type === 'email' && enabled,
    );
    const projects = channels.some(({ project_id }) => project_id !== null)
      ? await listRows(deps.db, id, 'project')
      : [];
    for (const channel of channels) {
      const project = projects.find(one => one.id === channel.project_id);
      const path = [slug, project?.slug, channel.slug].filter(Boolean).join('/');
      senders.push(...sendersOf(deps, id, channel, use => `${path} (${use})`));
    }
  }
  return senders.filter(sender => sender.domain === domain);
}

/** Returns the providers of a channel that send email from an address in their settings. */
function sendersOf(
  { cipher, providers }: Pick<Deps, 'cipher' | 'providers'>,
  organizationId: number,
  channel: SealedChannel & { type: string; providers: JsonObject[] },
  nameOf: (use: string, index: number) => string,
): DomainSender[] {
  if (channel.type !== 'email') return [];
  const secrets = readSecrets(() => openSecrets(cipher, organizationId, channel));
  return channel.providers.flatMap((entry, i): DomainSender[] => {
    const { use, ...settings } = entry;
    const provider = lookUp(providers, String(use));
    const domain = typeof settings.from === 'string' ? domainOfMailbox(settings.from) : undefined;
    if (!provider || domain === undefined) return [];
    const own = secrets[i];
    const route = provider.mailRoute?.({ ...settings, ...(isObject(own) && own) } as never);
    const sender = { domain, name: nameOf(provider.name, i), hasBounceDomain: route?.bounceDomain !== undefined };
    if (!route) return [{ ...sender, canSign: false }];
    const { bounceDomain, ...signing } = route;
    return [{ ...sender, ...signing, canSign: true, returnPathDomain: bounceDomain ?? domain }];
  });
}

/** Secrets that cannot be decrypted have their own check: here, the key is just not known. */
function readSecrets(open: () => JsonObject[]): JsonObject[] {
  try {
    return open();
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return [];
  }
}
