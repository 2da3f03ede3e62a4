/** Examines the mail setup of a sending domain from DNS answers, without I/O. */
import { type DkimSigner, examineDkim } from './dkim.ts';
import { type Alignment, examineDmarc } from './dmarc.ts';
import { type Area, areas, type Finding, Findings } from './finding.ts';
import { type Answers, Lookups, type Question } from './lookups.ts';
import { examineMx } from './mx.ts';
import { examineServer } from './server.ts';
import { examineSpf } from './spf.ts';

/** How the messages of one provider are sent, as far as it is known. */
export interface MailSender {
  /** Channel or provider, for sentences. */
  name: string;
  dkim?: DkimSigner | undefined;
  /** The second key of messages with two signatures. */
  secondDkim?: DkimSigner | undefined;
  /** Whether the provider can sign with a key in its settings. Others sign with keys that only the service knows. */
  canSign: boolean;
  /** Domain of the return path. Undefined: the service's own. */
  returnPathDomain?: string | undefined;
  /** Whether bounces to that domain are received by Belfry. */
  hasBounceDomain: boolean;
  /** Mail server that sends to receivers itself. */
  server?: string | undefined;
}

export interface ExamineOptions {
  isPublic: (address: string) => boolean;
  /** The host of Belfry's listener for bounces. */
  listener?: string | undefined;
}

export interface Examination {
  /** Areas that were examined: `dkim` only with a selector, `server` only with a mail server of our own. */
  checked: Area[];
  findings: Finding[];
  /** To be looked up before the next examination. If there are any, the findings are not complete. */
  wanted: Question[];
}

/** `senders` is empty if only the domain is known. */
export function examineDomain(
  domain: string,
  senders: readonly MailSender[],
  answers: Answers,
  { isPublic, listener }: ExamineOptions,
): Examination {
  const dns = new Lookups(answers);
  const findings = new Findings();
  const servers = new Map(
    senders.flatMap(({ server }) =>
      server ? [[server, examineServer(dns, findings, server, isPublic)] as const] : [],
    ),
  );

  const returnPaths = senders.map(({ returnPathDomain }) => returnPathDomain);
  for (const one of new Set([domain, ...returnPaths.filter(path => path !== undefined)])) {
    const isReturnPath = senders.length === 0 || returnPaths.includes(one);
    const returnPath = isReturnPath ? 'yes' : returnPaths.includes(undefined) ? 'maybe' : 'no';
    const own = new Set(
      senders.flatMap(({ server = [], returnPathDomain }) => (returnPathDomain === one ? server : [])),
    );
    if (own.size === 0) examineSpf(dns, findings, { domain: one, returnPath });
    for (const host of own) {
      const addresses = servers.get(host);
      examineSpf(dns, findings, { domain: one, returnPath, server: addresses && { host, addresses } });
    }
  }

  for (const { dkim, secondDkim } of senders) {
    for (const signer of [dkim, secondDkim]) if (signer) examineDkim(dns, findings, signer);
  }
  reportUnsigned(findings, domain, senders);

  const alignments: Alignment[] = senders
    .filter(({ returnPathDomain }) => returnPathDomain !== undefined)
    .map(({ name, dkim, returnPathDomain }) => ({ sender: name, dkimDomain: dkim?.domain, returnPathDomain }));
  examineDmarc(dns, findings, domain, alignments);

  examineMx(dns, findings, { domain, purpose: 'from' });
  for (const { returnPathDomain, hasBounceDomain } of senders) {
    if (hasBounceDomain) examineMx(dns, findings, { domain: returnPathDomain!, purpose: 'bounces', listener });
  }
  const isKnown = { dkim: senders.some(({ dkim }) => dkim), server: servers.size > 0 };
  const checked = areas.filter(area => (area === 'dkim' || area === 'server' ? isKnown[area] : true));
  return { checked, findings: findings.list(), wanted: [...dns.wanted.values()] };
}

function reportUnsigned(findings: Findings, domain: string, senders: readonly MailSender[]): void {
  for (const { name, dkim, canSign, server } of senders) {
    if (dkim) continue;
    if (canSign) {
      const message = `${name} does not sign its messages with DKIM: set dkim_domain, dkim_selector and dkim_private_key, unless its mail server signs them.`;
      findings.add(server ? 'warning' : 'info', 'dkim.unsigned', message);
    } else {
      const message = `The service of ${name} signs with its own DKIM key, which Belfry does not know: verify ${domain} in the settings of the service.`;
      findings.add('info', 'dkim.service_signs', message);
    }
  }
  if (senders.length > 0) return;
  const message = `DKIM was not checked, because the selector of ${domain} is not known: name it, or the channel that uses it.`;
  findings.add('info', 'dkim.no_selector', message);
}
