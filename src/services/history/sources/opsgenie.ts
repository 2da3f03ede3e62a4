/** What Opsgenie's alert API offers besides creating alerts: actions on one alert, and reading alerts and requests. */

import { AppError } from '../../../core/errors.ts';
import { isUuid } from '../../../core/ids.ts';
import type { Json, JsonObject } from '../../../core/json.ts';
import { isObject } from '../../../core/json.ts';
import { lookUp } from '../../../core/lookup.ts';
import { keyOf, textOf } from '../../../core/sources/alert.ts';
import { actionOf, isPriority } from '../../../core/sources/presets/opsgenie.ts';
import {
  type AlertFilter,
  type AlertView,
  countAlerts,
  findAlert,
  listAlerts,
  lockAlertDetails,
  setAlertDetails,
} from '../../../db/history/sources/alerts.ts';
import { type AlertResult, findPayload, type Payload } from '../../../db/history/sources/payloads.ts';
import type { StoredSource } from '../../../db/history/sources/sources.ts';
import { currentTime } from '../../../lib/time/clock.ts';
import type { Deps } from '../../deps.ts';
import { snooze, unacknowledge } from '../acknowledgements/acknowledgements.ts';

const maxNotes = 100;
const maxTags = 100;

/** Finds the alert that a path names. */
export async function findNamedAlert(
  { db }: Deps,
  { organization_id, id }: StoredSource,
  name: string,
  type: string,
): Promise<AlertView | undefined> {
  if (type === 'alias') return findAlert(db, organization_id, id, { key: keyOf(name) });
  if (type === 'tiny')
    return /^\d{1,15}$/.test(name) ? findAlert(db, organization_id, id, { number: Number(name) }) : undefined;
  // Without an alias, the alias of an alert is its id; some clients name it without saying so.
  const own = isUuid(name) ? await findAlert(db, organization_id, id, { id: name }) : undefined;
  return own ?? findAlert(db, organization_id, id, { key: keyOf(name) });
}

/** A long alias is kept as the key of a limited length. */
export function aliasOf({ key, context }: Pick<AlertView, 'key' | 'context'>): string {
  const alias = isObject(context) ? textOf(context.alias) : undefined;
  return alias !== undefined && keyOf(alias) === key ? alias : key;
}

export async function listNamedAlerts(
  { db }: Deps,
  { organization_id, id }: StoredSource,
  filter: AlertFilter,
  page: { offset: number; limit: number; isAscending?: boolean },
) {
  return listAlerts(db, organization_id, id, filter, page);
}

export async function countNamedAlerts(
  { db }: Deps,
  { organization_id, id }: StoredSource,
  filter: AlertFilter,
): Promise<number> {
  return countAlerts(db, organization_id, id, filter);
}

/** Changes what is kept about an alert, such as notes and tags. Returns why it cannot be done; undefined if it was. */
export async function annotate(
  { db, actor }: Deps,
  { organization_id, id }: StoredSource,
  alert: AlertView,
  action: string,
  body: JsonObject,
  query: Record<string, unknown>,
): Promise<string | undefined> {
  const change = lookUp(changes, action);
  if (!change) return `${action} is not supported here`;
  const by = userOf(body) ?? actor.name;
  const own = isObject(alert.context) ? alert.context : {};
  // Others may change it at the same moment.
  return db.transaction().execute(async trx => {
    const stored = await lockAlertDetails(trx, organization_id, id, alert.key);
    if (!stored) return 'Alert does not exist';
    const current = { tags: own.tags ?? [], details: own.details ?? {}, ...stored };
    const details = change(current, { ...body, ...(query as JsonObject) }, by);
    if (typeof details === 'string') return details;
    await setAlertDetails(trx, organization_id, id, alert.key, details);
    return undefined;
  });
}

/** Actions on the occurrence of an alert besides those that every source has. */
export const responses = new Set(['snooze', 'unacknowledge']);

/** Snoozes the occurrence of an alert, or takes its acknowledgement back. Returns why it cannot be done; undefined if it was. */
export async function respond(
  deps: Deps,
  { organization_id }: StoredSource,
  alert: AlertView,
  action: string,
  body: JsonObject,
): Promise<string | undefined> {
  const until = textOf(body.endTime);
  if (action === 'snooze' && until === undefined) return 'endTime is required';
  const by = userOf(body);
  const { occurrence_id: id } = alert;
  try {
    const { changed } = await (action === 'snooze'
      ? snooze(deps, organization_id, id, { until: until! }, by)
      : unacknowledge(deps, organization_id, id, by));
    return changed ? undefined : `Alert is already ${alert.state === 'resolved' ? 'closed' : alert.state}`;
  } catch (error) {
    if (!(error instanceof AppError) || error.kind === 'internal' || error.kind === 'unavailable') throw error;
    const [mistake] = Object.values(error.details.fields ?? {}).flat();
    return mistake === undefined ? error.message : `endTime ${mistake}`;
  }
}

function userOf(body: JsonObject): string | undefined {
  const user = textOf(body.user);
  return user && cut(user, 100);
}

function cut(text: string, max: number): string {
  return text.slice(0, max).toWellFormed();
}

type Change = (details: JsonObject, body: JsonObject, by: string) => JsonObject | string;

const set =
  (field: string): Change =>
  (details, body) => {
    const value = textOf(body[field]);
    return value === undefined ? `${field} is required` : { ...details, [field]: cut(value, 15_000) };
  };

const changes: Record<string, Change> = {
  message: set('message'),
  description: set('description'),
  priority: (details, { priority }) =>
    isPriority(priority) ? { ...details, priority } : 'priority must be one of P1, P2, P3, P4, P5',
  notes(details, body, by) {
    const note = textOf(body.note);
    if (note === undefined) return 'note is required';
    const added = { note: cut(note, 25_000), owner: by, createdAt: new Date(currentTime()).toISOString() };
    return { ...details, notes: [...listOf(details.notes), added].slice(-maxNotes) };
  },
  tags: (details, body) => ({
    ...details,
    tags: [...new Set([...textsOf(details.tags), ...textsOf(body.tags)])].slice(0, maxTags),
  }),
  'remove tags': (details, body) => {
    const removed = new Set(textsOf(body.tags));
    return { ...details, tags: textsOf(details.tags).filter(tag => !removed.has(tag)) };
  },
  details: (details, body) => ({
    ...details,
    details: { ...objectOf(details.details), ...objectOf(body.details) },
  }),
  'remove details': (details, body) => {
    const removed = new Set(textsOf(body.keys));
    const kept = Object.entries(objectOf(details.details)).filter(([name]) => !removed.has(name));
    return { ...details, details: Object.fromEntries(kept) };
  },
};

function listOf(value: Json | undefined): Json[] {
  return Array.isArray(value) ? value : [];
}

function objectOf(value: Json | undefined): JsonObject {
  return isObject(value) ? value : {};
}

/** A list, or texts separated by commas. */
function textsOf(value: Json | undefined): string[] {
  const items = Array.isArray(value) ? value : typeof value === 'string' ? value.split(',') : [];
  return items.flatMap(item => cut(textOf(item)?.trim() ?? '', 50) || []);
}

export interface RequestStatus {
  action: string;
  success: boolean;
  status: string;
  alertId: string;
  alias: string;
  processedAt: string | null;
}

/** Returns what became of a request; undefined if it is unknown, or too long ago. */
export async function findRequestStatus(
  { db }: Deps,
  { organization_id, id: sourceId }: StoredSource,
  id: string,
): Promise<RequestStatus | undefined> {
  const payload = isUuid(id) ? await findPayload(db, organization_id, sourceId, id) : undefined;
  if (!payload || payload.state === 'received') return undefined;
  const [result] = payload.alerts;
  const alert =
    result?.key === undefined ? undefined : await findAlert(db, organization_id, sourceId, { key: result.key });
  return describe(payload, result, alert);
}

const done: Partial<Record<AlertResult['outcome'], string>> = {
  opened: 'Created alert',
  reopened: 'Created alert',
  repeated: 'Alert count is increased',
  acknowledged: 'Alert acknowledged',
  resolved: 'Alert closed',
  noted: 'Alert updated',
};

const responded: Record<string, string> = { snooze: 'Alert snoozed', unacknowledge: 'Alert unacknowledged' };

function describe(
  { request, note, id }: Payload,
  result: AlertResult | undefined,
  alert: AlertView | undefined,
): RequestStatus {
  const action = actionOf({ method: String(request.method), url: String(request.url) }) ?? 'create';
  const success = result !== undefined && result.outcome in done;
  const missing = alert
    ? `Alert is already ${alert.state === 'resolved' ? 'closed' : alert.state}`
    : `There is no open alert with alias [${result?.key ?? ''}]`;
  const failure = result?.outcome === 'unknown' ? missing : (result?.error ?? note ?? 'Alert does not exist');
  return {
    action: action[0]!.toUpperCase() + action.slice(1),
    success,
    status: success ? (lookUp(responded, action) ?? done[result.outcome]!) : failure,
    alertId: success ? (alert?.id ?? '') : '',
    alias: success && alert ? aliasOf(alert) : '',
    processedAt: new Date(Number.parseInt(id.replace('-', '').slice(0, 12), 16)).toISOString(),
  };
}
