/** Integrations of services as sources with the same key: senders change only their host. */
import { lookUp } from '../../lookup.ts';
import { sourceLimits } from '../../sources/alert.ts';
import { sourceToken } from '../../sources/token.ts';
import type { AddNote, ImportOptions, SourceEntry } from '../imported.ts';
import { makeSlugs, nameOf } from '../names.ts';
import { isoTime } from '../overrides.ts';
import type { Variant } from './policies.ts';
import type { PagerDutyExport, PagerDutyIntegration, PagerDutyService } from './resources.ts';

const presets: Record<string, SourceEntry['use']> = {
  events_api_v2_inbound_integration: 'pagerduty',
  generic_events_api_inbound_integration: 'pagerduty',
  nagios_inbound_integration: 'pagerduty',
  generic_email_inbound_integration: 'email',
  aws_cloudwatch_inbound_integration: 'sns',
};

/** Those whose senders use neither the key nor the paths of events. */
const hints: Record<string, string> = {
  generic_email_inbound_integration: 'it is an address for mails: send them to the address of the new source',
  aws_cloudwatch_inbound_integration:
    'subscribe the topic to the address of the new source, with its ARN as the secret',
};

/** What is read of any JSON when nothing is known about the sender. */
const anyJson = {
  key: 'dedup_key || incident_key || id || title || message || to_string(@)',
  title: "title || summary || description || message || name || 'Alert'",
  severity: 'severity || level || priority',
  resolve: "state == 'ok' || state == 'resolved' || status == 'ok' || status == 'resolved'",
};

/** The urgencies of a service: those of serious alerts and of others. */
interface Urgencies {
  serious: boolean;
  other: boolean;
}

export function urgenciesOf({ name, urgency: rule }: PagerDutyService, note: AddNote): Urgencies {
  const both = (isUrgent: boolean) => ({ serious: isUrgent, other: isUrgent });
  const read = (urgency: string | null | undefined): Urgencies => {
    if (urgency === 'low') return both(false);
    if (urgency === 'severity_based') return { serious: true, other: false };
    if (urgency && urgency !== 'high') note(`service ${name}`, `the urgency ${urgency} is not known: it is high here`);
    return both(true);
  };
  if (!rule || rule.type === 'constant' || !rule.type) return read(rule?.urgency);
  if (rule.type !== 'use_support_hours') {
    note(`service ${name}`, `its urgency is of the type ${rule.type}, which is not known: it is high here`);
    return both(true);
  }
  const [during, outside] = [read(rule.during_support_hours?.urgency), read(rule.outside_support_hours?.urgency)];
  note(`service ${name}`, 'its urgency depends on support hours: here it is the higher one at any time');
  return { serious: during.serious || outside.serious, other: during.other || outside.other };
}

export const variantOf = ({ acknowledgement_timeout }: PagerDutyService, isUrgent: boolean): Variant => ({
  isUrgent,
  expiresSeconds: Math.max(0, Math.floor(acknowledgement_timeout ?? 0)),
});

export interface ServiceContext extends ImportOptions {
  /** Returns the slug of the event of a policy; undefined if the policy is not carried over. */
  eventOf(policyId: string, variant: Variant): string | undefined;
  note: AddNote;
}

/** Returns the sources, and their slugs by the ids of services. */
export function toSources(data: PagerDutyExport, context: ServiceContext) {
  const { note } = context;
  const sources: SourceEntry[] = [];
  const byService = new Map<string, string[]>();
  const slug = makeSlugs('source');
  const keys = new Set<string>();
  for (const service of data.services) {
    const subject = `service ${service.name}`;
    const integrations = service.integrations ?? [];
    if (service.status === 'disabled') {
      note(subject, 'it is disabled: it is left out with its integrations');
      continue;
    }
    if (integrations.length === 0) note(subject, 'it has no integrations: nothing sends alerts to it');
    const urgencies = urgenciesOf(service, note);
    const routes = toRoutes(service, urgencies, context);
    if (!routes) {
      note(subject, 'it has no escalation policy: it is left out with its integrations');
      continue;
    }
    for (const integration of integrations) {
      const own = `${subject}, integration ${integration.name ?? integration.id}`;
      if (sources.length === sourceLimits.sources) {
        note(own, `an application has ${sourceLimits.sources} sources at most: add it to another application`);
        continue;
      }
      const name = nameOf(`${service.name} ${integration.name ?? ''}`, 'Integration');
      const token = tokenOf(integration, keys, own, note);
      const made = slug(name);
      sources.push({ slug: made, name, ...formatOf(integration, own, note), routes, ...(token && { token }) });
      byService.set(service.id, [...(byService.get(service.id) ?? []), made]);
    }
  }
  const resolved = data.services.filter(({ auto_resolve_timeout: after }) => (after ?? 0) > 0).length;
  if (resolved > 0)
    note(
      'automatic resolution',
      `${resolved} services resolve incidents after some time: here the sender resolves its alerts`,
    );
  listWindows(data, byService, context);
  return sources;
}

function toRoutes(service: PagerDutyService, { serious, other }: Urgencies, { eventOf }: ServiceContext) {
  const event = (isUrgent: boolean) => eventOf(service.escalation_policy?.id ?? '', variantOf(service, isUrgent));
  const last = event(serious);
  if (!last) return undefined;
  if (serious === other) return [{ event: last }];
  return [{ when: "severity == 'warning' || severity == 'info'", event: event(other)! }, { event: last }];
}

function tokenOf(
  { integration_key: key, type }: PagerDutyIntegration,
  keys: Set<string>,
  subject: string,
  note: AddNote,
): string | undefined {
  if (lookUp(hints, type)) return undefined;
  if (!key || !new RegExp(sourceToken.pattern).test(key))
    note(subject, 'it has no key that can be used: a new one is generated, change its senders');
  else if (keys.has(key))
    note(subject, 'another integration has the same key: a new one is generated, change its senders');
  else {
    keys.add(key);
    return key;
  }
  return undefined;
}

function formatOf(
  { type, vendor }: PagerDutyIntegration,
  subject: string,
  note: AddNote,
): Pick<SourceEntry, 'use' | 'mapping'> {
  const use = lookUp(presets, type);
  const hint = lookUp(hints, type);
  if (hint) note(subject, hint);
  if (use) return { use };
  const sender = vendor ? `, of ${vendor},` : '';
  note(
    subject,
    `its type${sender} is ${type}: change the address of its senders, and check the mapping with a payload`,
  );
  return { mapping: anyJson };
}

/** Maintenance windows are data, not configuration: they become commands that enter silences. */
function listWindows(
  data: PagerDutyExport,
  byService: ReadonlyMap<string, string[]>,
  { now, project, note }: ServiceContext,
) {
  const services = new Map(data.services.map(({ id, name }) => [id, name]));
  for (const window of data.maintenance_windows) {
    const [from, until] = [Date.parse(window.start_time), Date.parse(window.end_time)];
    if (until <= now) continue;
    const text = nameOf(window.description ?? '', 'Maintenance').slice(0, 200);
    const subject = `maintenance window ${text}`;
    const names = (window.services ?? []).map(({ id }) => services.get(id) ?? id);
    const slugs = (window.services ?? []).flatMap(({ id }) => byService.get(id) ?? []);
    if (slugs.length === 0) note(subject, `none of its services has a source: ${names.join(', ') || '(none)'}`);
    const begin = from > now ? ` --from ${isoTime(from)}` : '';
    const reason = `'${text.replaceAll("'", "'\\''")}'`;
    for (const slug of slugs)
      note(
        subject,
        `enter it: belfry silence ${project} source=${slug}${begin} --until ${isoTime(until)} --reason ${reason}`,
      );
  }
}
