/** An integration as a source with the same token: its senders need no change other than DNS. */
import { lookUp } from '../../lookup.ts';
import { sourceLimits } from '../../sources/alert.ts';
import { sourceToken } from '../../sources/token.ts';
import type { SourceEntry } from '../imported.ts';
import type { OnCallExport, OnCallIntegration, OnCallRoute } from './resources.ts';
import { toCondition } from './routes.ts';

const presets: Record<string, SourceEntry['use']> = {
  alertmanager: 'alertmanager',
  legacy_alertmanager: 'alertmanager',
  grafana: 'grafana',
  grafana_alerting: 'grafana',
  legacy_grafana_alerting: 'grafana',
  formatted_webhook: 'formatted',
  zabbix: 'formatted',
  elastalert: 'formatted',
  amazon_sns: 'sns',
  uptimerobot: 'formatted',
};

/** Those that have no address. */
const internal = new Set(['manual', 'direct_paging', 'maintenance', 'inbound_email']);

/** What is read of any JSON when nothing is known about the sender. */
const anyJson = {
  key: 'alert_uid || id || title || message || to_string(@)',
  title: "title || message || name || 'Alert'",
  severity: 'severity || level || priority',
  resolve: "state == 'ok' || state == 'resolved' || status == 'ok' || status == 'resolved' || level == 'OK'",
};

export interface IntegrationContext {
  data: OnCallExport;
  /** Slugs of the events of chains, by the id of the chain. */
  events: ReadonlyMap<string, string>;
  /** The event of alerts that no chain escalates. */
  quietEvent(): string;
  note(subject: string, reason: string): void;
}

export function toSource(
  integration: OnCallIntegration,
  slug: string,
  context: IntegrationContext,
): SourceEntry | undefined {
  const subject = `integration ${integration.name}`;
  if (internal.has(integration.type)) {
    context.note(subject, `it is of the type ${integration.type}, which has no address`);
    return undefined;
  }
  const use = lookUp(presets, integration.type);
  const token = tokenOf(integration.link ?? '');
  if (!token)
    context.note(subject, 'its address has no token that can be used: a new one is generated, change its senders');
  if (!use && integration.type !== 'webhook' && integration.type !== 'kapacitor')
    context.note(subject, `there is no preset for ${integration.type}: check the mapping with a payload of it`);
  const key = integration.grouping_key ? simplePath(integration.grouping_key) : undefined;
  if (integration.grouping_key && (use || !key))
    context.note(subject, 'its grouping template is not carried over: see `group_by`');
  return {
    slug,
    name: integration.name,
    ...(use
      ? { use }
      : { mapping: { ...anyJson, ...(key && { key: `${key} && to_string(${key}) || ${anyJson.key}` }) } }),
    routes: toRoutes(integration, use, subject, context),
    ...(token && { token }),
  };
}

function tokenOf(link: string): string | undefined {
  const [, token] = /\/integrations\/v1\/[^/]+\/([^/?#]+)\/?$/.exec(link) ?? [];
  return token && new RegExp(sourceToken.pattern).test(token) ? token : undefined;
}

/** Returns the path of a template that is nothing but one, such as `{{ payload.host }}`. */
function simplePath(template: string): string | undefined {
  return /^\s*\{\{\s*payload\.([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)\s*\}\}\s*$/.exec(template)?.[1];
}

function toRoutes(
  integration: OnCallIntegration,
  use: SourceEntry['use'],
  subject: string,
  { data, events, quietEvent, note }: IntegrationContext,
): SourceEntry['routes'] {
  const eventOf = (chain: string | null | undefined) => events.get(chain ?? '') ?? quietEvent();
  const all = data.routes.filter(route => route.integration_id === integration.id);
  const own = all.filter(route => !route.is_the_last_route).sort((a, b) => a.position - b.position);
  const routes: SourceEntry['routes'] = [];
  for (const route of own) {
    const when = toCondition(route, use);
    if (when === undefined) note(`${subject}, route ${route.position + 1}`, describeRoute(route));
    else if (routes.length >= sourceLimits.routes - 1)
      note(`${subject}, route ${route.position + 1}`, `a source has ${sourceLimits.routes} routes at most`);
    else routes.push({ when, event: eventOf(route.escalation_chain_id) });
  }
  const last =
    all.find(route => route.is_the_last_route)?.escalation_chain_id ?? integration.default_route?.escalation_chain_id;
  return [...routes, { event: eventOf(last) }];
}

function describeRoute({ routing_type, routing_regex }: OnCallRoute): string {
  const kind =
    routing_type === 'jinja2' ? 'template' : routing_type === 'regex' || !routing_type ? 'pattern' : routing_type;
  return `write its ${kind} as a condition (\`when\`), because alerts that match take the next route until then: ${routing_regex ?? ''}`;
}
