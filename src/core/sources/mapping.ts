/**
 * Turns the payload of a source into alerts with their event and their group. Expressions are compiled once per source, and
 * evaluated with the limits of core/expressions/.
 */
import { compileExpression, compilePredicate, expressionLimits } from '../expressions/expressions.ts';
import { groupKey } from '../expressions/group-key.ts';
import { canonicalJson, cleanJson, isCleanJson, isObject, type Json, type JsonObject } from '../json.ts';
import {
  type Alert,
  isAlert,
  keyOf,
  parseJsonBody,
  readEach,
  readLazily,
  readOne,
  type SkippedAlert,
  type SourcePayload,
  type SourcePreset,
  type SourceRequest,
  severityOf,
  timeOf,
  titleOf,
} from './alert.ts';
import { type SourcePresetName, sourcePresets } from './presets/index.ts';

export interface SourceMapping {
  alerts?: string;
  key?: string;
  title?: string;
  severity?: string;
  time?: string;
  context?: string;
  resolve?: string;
  acknowledge?: string;
}

export interface SourceRoute {
  when?: string;
  event: string;
}

export interface SourceRules {
  slug: string;
  use: SourcePresetName | null;
  mapping: SourceMapping | null;
  routes: SourceRoute[];
  group_by: string[];
}

/** An alert and where it goes. */
export interface RoutedAlert extends Alert {
  /** Slug of the event; undefined: no route applies. */
  event: string | undefined;
  /** Alerts with the same one belong to one occurrence. */
  dedupKey: string;
  /** The context of the trigger. */
  triggerContext: JsonObject;
}

export interface CompiledSource {
  limited: NonNullable<SourcePreset['limited']>;
  read(request: SourceRequest): SourcePayload;
  /** Throws an Error with the reason if the alert cannot be used. */
  route(alert: Alert): RoutedAlert;
}

/** Each expression is evaluated for every alert of a payload. */
const steps = expressionLimits.stepsForUser;

export function compileSource(rules: SourceRules): CompiledSource {
  const preset: SourcePreset = rules.use === null ? createGeneric(rules.mapping ?? {}) : sourcePresets[rules.use];
  const remap = rules.use !== null && rules.mapping ? compileMapping(rules.mapping) : undefined;
  const routes = rules.routes.map(({ when, event }) => ({
    event,
    matches: when === undefined ? () => true : compilePredicate(when, steps),
  }));
  const groups = rules.group_by.map(path => compileExpression(path, steps));
  return {
    limited: preset.limited ?? 429,
    read(request) {
      const payload = preset.read(request);
      if (!remap) return payload;
      const alerts = payload.alerts.map(read =>
        readLazily(read.at, () => (isAlert(read.alert) ? remapAlert(read.alert) : read.alert)),
      );
      return { ...payload, alerts };
    },
    route(given) {
      const alert = cleanAlert(given);
      const triggerContext = contextOf(rules.slug, alert);
      const event = routes.find(({ matches }) => matches(triggerContext))?.event;
      const group = groups.map(evaluate => evaluate(triggerContext).value);
      const dedupKey = keyOf(`${rules.slug}/${group.length > 0 ? groupKey(group) : alert.key}`);
      return { ...alert, event, dedupKey, triggerContext };
    },
  };

  function remapAlert(alert: Alert): Alert | SkippedAlert {
    try {
      return { ...alert, ...remap!(contextOf(rules.slug, alert), alert) };
    } catch (error) {
      return { key: alert.key, error: (error as Error).message };
    }
  }
}

/** What expressions and templates see of an alert. */
function contextOf(source: string, { context, key, state, title, severity, time }: Alert): JsonObject {
  return { ...context, source, key, state, title, severity, time };
}

/** Text that PostgreSQL cannot store, and values that are nested too deep, are refused. */
function cleanAlert(alert: Alert): Alert {
  if (isCleanJson(alert)) return alert;
  const errors = {};
  const cleaned = cleanJson(alert, errors) as Alert;
  const [first] = Object.entries<string[]>(errors);
  if (first) throw new Error(`${first[0]} ${first[1][0]}`);
  return cleaned;
}

function createGeneric(mapping: SourceMapping): SourcePreset {
  const { alerts } = mapping;
  const list = alerts === undefined ? undefined : compileExpression(alerts);
  const map = compileMapping(mapping);
  const read = (item: Json) => map(item, { state: 'open', context: isObject(item) ? item : { payload: item } });
  return {
    title: 'Mapping',
    read(request) {
      const payload = parseJsonBody(request) as Json;
      if (!list) return { alerts: readOne(() => read(payload)) };
      const { value } = list(payload);
      if (!Array.isArray(value)) throw new Error('has no list where `mapping.alerts` looks for it');
      return { alerts: readEach(value, 'alerts', read) };
    },
  };
}

type Remap = (item: Json, alert: Partial<Alert> & Pick<Alert, 'state' | 'context'>) => Alert;

function compileMapping(mapping: SourceMapping): Remap {
  const part = (name: keyof SourceMapping) => {
    const expression = mapping[name];
    if (expression === undefined) return undefined;
    const evaluate = compileExpression(expression, steps);
    return (item: Json) => {
      try {
        return evaluate(item).value;
      } catch (error) {
        throw new Error(`mapping.${name} cannot be evaluated: ${(error as Error).message}`);
      }
    };
  };
  const [key, title, severity, time] = [part('key'), part('title'), part('severity'), part('time')];
  const [context, resolve, acknowledge] = [part('context'), part('resolve'), part('acknowledge')];
  return (item, alert) => {
    const found = key ? scalarText(key(item)) : alert.key;
    if (found === undefined) throw new Error('has no value where `mapping.key` looks for it');
    const made = context?.(item);
    const isResolved = resolve ? resolve(item) === true : alert.state === 'resolved';
    const isAcknowledged = acknowledge ? acknowledge(item) === true : alert.state === 'acknowledged';
    return {
      ...(alert.id !== undefined && { id: alert.id }),
      key: keyOf(found),
      state: isResolved ? 'resolved' : isAcknowledged ? 'acknowledged' : 'open',
      title: titleOf(title ? title(item) : alert.title, found),
      severity: severity ? severityOf(severity(item)) : (alert.severity ?? null),
      time: time ? timeOf(time(item)) : (alert.time ?? null),
      context: made === undefined ? alert.context : isObject(made) ? made : { value: made },
    };
  };
}

function scalarText(value: Json): string | undefined {
  if (value === null || value === '') return undefined;
  return typeof value === 'object' ? canonicalJson(value) : String(value);
}

/** Paths that clients of other systems use decide the format themselves, whatever the source's preset is. */
const fixedPaths: [path: RegExp, preset: SourcePreset][] = [
  [/^(\/jsm\/ops\/integration)?\/v2\/alerts\b/, sourcePresets.opsgenie],
  [/^(\/v2\/enqueue|\/generic\/)/, sourcePresets.pagerduty],
];

/** Reads a request as the sender at its path writes it. */
export function readRequest(compiled: CompiledSource, request: SourceRequest): SourcePayload {
  const [, preset] = fixedPaths.find(([path]) => path.test(request.url)) ?? [];
  return (preset ?? compiled).read(request);
}
