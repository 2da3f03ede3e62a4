/** Integrations as sources. The routing rules of the team that is responsible become their routes. */
import { lookUp } from '../../lookup.ts';
import { sourceLimits } from '../../sources/alert.ts';
import type { AddNote, SourceEntry } from '../imported.ts';
import { quote, toCondition } from './conditions.ts';
import type { People } from './people.ts';
import type { OpsgenieExport, OpsgenieIntegration, OpsgenieReference, OpsgenieTeam } from './resources.ts';

/** Kinds whose senders use the alert API. */
const apiTypes = new Set(['API', 'Prometheus', 'Grafana', 'GrafanaV2', 'Zabbix', 'UptimeKuma', 'Healthchecks.io']);
/** Kinds that have another preset. */
const presets: Record<string, SourceEntry['use']> = {
  Email: 'email',
  AmazonSns: 'sns',
  AmazonSnsV2: 'sns',
  CloudWatch: 'sns',
  CloudWatchV2: 'sns',
};
/** Kinds that only send. */
const outgoing = new Set([
  'Webhook',
  'Slack',
  'SlackApp',
  'Mattermost',
  'Hipchat',
  'Flowdock',
  'MicrosoftTeams',
  'MicrosoftTeamsV2',
  'StatuspageIO',
  'StatusPageIO',
]);

export interface IntegrationContext {
  data: OpsgenieExport;
  people: People;
  /** Returns the slug of the event for an escalation, a schedule or a user; undefined if there is none. */
  eventOf(reference: OpsgenieReference): string | undefined;
  /** The event of alerts that notify no one. */
  quietEvent(): string;
  note: AddNote;
}

type Route = SourceEntry['routes'][number];

export function toSource(
  integration: OpsgenieIntegration,
  slug: string,
  context: IntegrationContext,
): SourceEntry | undefined {
  const { type, name } = integration;
  const subject = `integration ${name}`;
  const { note } = context;
  if (integration.enabled === false) {
    note(subject, 'it is disabled');
    return undefined;
  }
  if (outgoing.has(type)) {
    note(subject, `it is of the type ${type}, which reports alerts elsewhere: see channels and webhooks`);
    return undefined;
  }
  const use = lookUp(presets, type) ?? 'opsgenie';
  if (use !== 'opsgenie')
    note(subject, `it is of the type ${type}: its senders need the new address of the source ${slug}`);
  else {
    note(
      subject,
      `its key cannot be read from the API: write it as \`token\` of the source ${slug}, or a new one is generated and its senders change theirs`,
    );
    if (!apiTypes.has(type))
      note(
        subject,
        `its senders of the type ${type} may use a format of their own: use the alert API, another preset, or a mapping`,
      );
  }
  return { slug, name, use, routes: toRoutes(integration, subject, use, context) };
}

/** The alert's own responders first, and then those of the integration. */
function toRoutes(
  integration: OpsgenieIntegration,
  subject: string,
  use: SourceEntry['use'],
  context: IntegrationContext,
): SourceEntry['routes'] {
  const { data, people, quietEvent, note } = context;
  const owner = integration.teamId ? { type: 'team', id: integration.teamId } : undefined;
  const own = owner ? [owner] : (integration.responders ?? []);
  const named: Route[] = [];
  if (!owner && use === 'opsgenie' && integration.ignoreRespondersFromPayload !== true) {
    for (const team of data.teams) named.push(...forResponder({ ...team, type: 'team' }, subject, context));
    for (const escalation of data.escalations)
      named.push(...forResponder({ ...escalation, type: 'escalation' }, subject, context));
    for (const schedule of data.schedules)
      named.push(...forResponder({ ...schedule, type: 'schedule' }, subject, context));
  }
  const [responder, ...others] = own;
  if (others.length > 0)
    note(subject, `it has ${own.length} responders: only ${describe(responder!, people)} is notified of its alerts`);
  const last = responder ? routesOf(responder, subject, context) : [];
  const free = sourceLimits.routes - last.length - 1;
  if (named.length > free)
    note(
      subject,
      `its alerts name responders, for which it would need ${named.length} routes: there is room for ${free}`,
    );
  const routes = [...named.slice(0, Math.max(0, free)), ...last].slice(0, sourceLimits.routes - 1);
  // Everything after a route without a condition would be ignored.
  const end = routes.findIndex(({ when }) => !when);
  if (end >= 0) return routes.slice(0, end + 1);
  note(
    subject,
    'alerts for which there is no route, such as those that name a single user or no responder, notify no one',
  );
  return [...routes, { event: quietEvent() }];
}

function forResponder(reference: OpsgenieReference, subject: string, context: IntegrationContext): Route[] {
  const [name, id] = [quote(reference.name), quote(reference.id)];
  const parts = [...(name ? [`name == ${name}`] : []), ...(id ? [`id == ${id}`] : [])];
  if (!name)
    context.note(subject, `alerts that name ${reference.name} need a route: this name cannot be in a condition`);
  if (parts.length === 0) return [];
  const { type } = reference;
  const isNamed = `(responders[?type == '${type}' && (${parts.join(' || ')})] | [0].type) == '${type}'`;
  return routesOf(reference, subject, context).map(({ when, event }) => ({
    when: when ? `${isNamed} && (${when})` : isNamed,
    event,
  }));
}

const describe = (reference: OpsgenieReference, people: People) =>
  people.teamOf(reference)?.name ?? reference.name ?? reference.username ?? reference.id ?? '(none)';

/** Routes for alerts of which a team, schedule, escalation or user is notified. */
function routesOf(reference: OpsgenieReference, subject: string, context: IntegrationContext): Route[] {
  if (reference.type !== 'team') {
    const event = context.eventOf(reference);
    if (event) return [{ event }];
    context.note(subject, `its responder ${describe(reference, context.people)} is not carried over`);
    return [];
  }
  const team = context.people.teamOf(reference);
  if (team) return teamRoutes(team, context);
  context.note(subject, `its team, ${reference.id}, does not exist`);
  return [];
}

function teamRoutes(team: OpsgenieTeam, { eventOf, quietEvent, note }: IntegrationContext): Route[] {
  const rules = (team.routingRules ?? []).toSorted((a, b) => (a.order ?? 0) - (b.order ?? 0));
  const inOrder = [...rules.filter(rule => !rule.isDefault), ...rules.filter(rule => rule.isDefault)];
  return inOrder.flatMap((rule, i): Route[] => {
    const at = `team ${team.name}, routing rule ${rule.name ?? i + 1}`;
    const until = 'until you write a route for it, alerts that match take the next one';
    const when = rule.isDefault ? '' : toCondition(rule.criteria);
    if (when === undefined) {
      note(at, `its conditions cannot be translated: ${until}`);
      return [];
    }
    if (rule.timeRestriction && !rule.isDefault) {
      note(at, `it is for some times only, and routes do not depend on the time: ${until}`);
      return [];
    }
    const { notify } = rule;
    const event = !notify || notify.type === 'none' ? quietEvent() : eventOf(notify);
    if (!event)
      note(
        at,
        `it notifies ${notify?.type ?? ''} ${notify?.name ?? notify?.id ?? ''}, which is not carried over: no one is notified`,
      );
    return [{ ...(when && { when }), event: event ?? quietEvent() }];
  });
}
